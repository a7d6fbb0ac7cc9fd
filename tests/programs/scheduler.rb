# SPDX-License-Identifier: MIT
#
# An HTTP server with a fiber for each connection, on a scheduler of its own: what a fiber waits for is waited for
# here. Prints `port` and the port; at SIGTERM `coroutines C switches S`, as it has counted them itself.
require 'socket'

class Scheduler
  attr_reader :made, :switches

  def initialize
    @made = @switches = 0
    @read = {}
    @write = {}
    @ready = []
  end

  # To the fiber, and back from where it waits or ends.
  def enter(fiber)
    @switches += 2
    fiber.resume
  end

  def fiber(&block)
    fiber = Fiber.new(blocking: false, &block)
    @made += 1
    enter(fiber)
    fiber
  end

  def io_wait(io, events, _timeout)
    @read[io] = Fiber.current if events & IO::READABLE != 0
    @write[io] = Fiber.current if events & IO::WRITABLE != 0
    Fiber.yield
    @read.delete(io)
    @write.delete(io)
    events
  end

  def kernel_sleep(_duration = nil)
    @ready << Fiber.current
    Fiber.yield
  end

  def block(_blocker, _timeout = nil)
    Fiber.yield
    true
  end

  def unblock(_blocker, fiber)
    @ready << fiber
  end

  def close; end

  # Until there is something to be read from `stop`.
  def run(stop)
    loop do
      readable, writable = IO.select([stop, *@read.keys], @write.keys, nil, @ready.empty? ? nil : 0)
      return if readable&.include?(stop)

      waiting = [*readable&.map { |io| @read[io] }, *writable&.map { |io| @write[io] }, *@ready.slice!(0..)].uniq
      waiting.each { |fiber| enter(fiber) }
    end
  end
end

ANSWER = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nok\n"

def serve(client)
  while (line = client.gets)
    next unless line == "\r\n"

    sleep 0
    client.write(ANSWER)
  end
rescue SystemCallError
  nil
ensure
  client.close
end

stop, ended = IO.pipe
trap(:TERM) { ended.write_nonblock('.') }
scheduler = Scheduler.new
Fiber.set_scheduler(scheduler)
server = TCPServer.new('127.0.0.1', 0)
puts "port #{server.addr[1]}"
$stdout.flush
Fiber.schedule do
  loop { server.accept.then { |client| Fiber.schedule { serve(client) } } }
end
scheduler.run(stop)
puts "coroutines #{scheduler.made} switches #{scheduler.switches}"
$stdout.flush
exit!(0)
