// SPDX-License-Identifier: MIT
//
// inherited.h - what a child of ours has of ctp-run's descriptors.
#pragma once

// In a child that calls no exec: closes what an exec would close, but for `but`. Else locks of ctp-run's
// would last until the child has ended, too, though ctp-run is gone.
void inherited_drop(const int *but, unsigned n);
