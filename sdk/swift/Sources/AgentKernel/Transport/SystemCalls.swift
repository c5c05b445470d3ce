// The few system calls of the transport, alike on Linux and on Apple's systems. Nothing else calls them.
#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

enum SystemCalls {
    /// Whose rights this program has.
    static var userID: UInt32 { geteuid() }

    /// An end of file is 0 bytes; an error is its number.
    enum Outcome {
        case moved(Int)
        case wouldBlock
        case failed(Int32)
    }

    /// A non-blocking socket that no child process inherits.
    static func openSocket(family: Int32) -> Int32? {
        #if canImport(Darwin)
        let descriptor = socket(family, SOCK_STREAM, 0)
        guard descriptor >= 0 else { return nil }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
        makeQuiet(descriptor)
        return descriptor
        #elseif canImport(Musl)
        let descriptor = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
        return descriptor >= 0 ? descriptor : nil
        #else
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, kind, 0)
        return descriptor >= 0 ? descriptor : nil
        #endif
    }

    /// Both ends of a pipe, non-blocking.
    static func openPipe() -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "no pipe could be opened: error \(errno)")
        ends.forEach(makeQuiet)
        return (ends[0], ends[1])
    }

    /// Small requests leave at once.
    static func sendWithoutDelay(_ descriptor: Int32) {
        var on: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Outcome {
        #if canImport(Darwin)
        return outcome { send(descriptor, bytes.baseAddress, bytes.count, 0) }
        #else
        // Without the flag, a server that hung up would end the whole program.
        return outcome { send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
        #endif
    }

    static func read(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer) -> Outcome {
        outcome { recv(descriptor, bytes.baseAddress, bytes.count, 0) }
    }

    /// Looks at what has come, and leaves it.
    static func peek(_ descriptor: Int32) -> Outcome {
        var byte: UInt8 = 0
        return outcome { recv(descriptor, &byte, 1, Int32(MSG_PEEK)) }
    }

    /// 0 where it is done, otherwise the error's number.
    static func beginConnecting(_ descriptor: Int32, to address: Address) -> Int32 {
        address.with { connect(descriptor, $0, $1) } == 0 ? 0 : errno
    }

    /// The server sees the end at once: closing alone would wait for a thread that polls the socket.
    static func hangUp(_ descriptor: Int32) {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    /// The error with which a connection attempt ended; 0 for none.
    static func connectError(_ descriptor: Int32) -> Int32 {
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 ? code : errno
    }

    static func explain(_ code: Int32) -> String {
        String(cString: strerror(code))
    }

    private static func outcome(_ call: () -> Int) -> Outcome {
        while true {
            let count = call()
            if count >= 0 { return .moved(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK: return .wouldBlock
            default: return .failed(errno)
            }
        }
    }

    private static func makeQuiet(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }
}
