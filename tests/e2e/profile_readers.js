// SPDX-License-Identifier: MIT
//
// What other people's readers make of our profiles, as JSON: profile_readers.js MODULES PPROF SPEEDSCOPE FOLDED
const fs = require('fs'), path = require('path'), zlib = require('zlib'), { execFileSync } = require('child_process');
const [modules, pprof, speedscope, folded] = process.argv.slice(2);
const from = (name) => require(path.join(modules, name));

function readPprof() {
	const p = from('pprof-format').Profile.decode(zlib.gunzipSync(fs.readFileSync(pprof)));
	const text = (i) => p.stringTable.strings[Number(i)];
	const by = (list) => new Map(list.map((x) => [Number(x.id), x]));
	const functions = by(p.function), locations = by(p.location), mappings = by(p.mapping);
	return {
		types: p.sampleType.map((t) => text(t.type) + '/' + text(t.unit)), shown: text(p.defaultSampleType),
		samples: p.sample.map((s) => ({
			values: s.value.map(Number), labels: Object.fromEntries(s.label.map((l) => [text(l.key), text(l.str)])),
			frames: s.locationId.flatMap((id) => {
				const place = locations.get(Number(id)), object = mappings.get(Number(place.mappingId));
				return place.line.map((l) => {
					const f = functions.get(Number(l.functionId));
					return { name: text(f.name), file: text(f.filename), line: Number(l.line),
						 build_id: object ? text(object.buildId) : '' };
				});
			}),
		})),
	};
}

function readSpeedscope() {
	const schema = JSON.parse(fs.readFileSync(path.join(modules, 'speedscope/dist/release/file-format-schema.json')));
	const Ajv = from('ajv'), valid = new Ajv({ strict: false }).compile(schema);
	const file = JSON.parse(fs.readFileSync(speedscope));
	return { errors: valid(file) ? [] : valid.errors, file };
}

function readFolded() {
	const out = execFileSync(process.execPath, [path.join(modules, 'stackvis/cmd/stackvis'), 'collapsed', 'collapsed'],
				 { input: fs.readFileSync(folded), encoding: 'utf8' });
	return out.split('\n').filter((line) => line);
}

console.log(JSON.stringify({ pprof: readPprof(), speedscope: readSpeedscope(), folded: readFolded() }));
