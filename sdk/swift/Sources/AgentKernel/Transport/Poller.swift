import Foundation

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Waits on behalf of tasks: for sockets, for time, and for signals of other threads. One thread does it for the whole
/// program, whatever the number of requests; it never runs code of a caller's.
final class Poller: @unchecked Sendable {
    static let shared = Poller()

    struct Events: OptionSet, Sendable {
        let rawValue: Int16
        static let read = Events(rawValue: Int16(POLLIN))
        static let write = Events(rawValue: Int16(POLLOUT))
    }

    typealias Ticket = UInt64

    private struct Waiter {
        let descriptor: Int32
        let events: Events
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Events, any Error>
    }

    private let lock = NSLock()
    private let wake = SystemCalls.openPipe()
    // Behind the lock.
    private var waiters: [Ticket: Waiter] = [:]
    private var lastTicket: Ticket = 0
    private var isWoken = false

    private init() {
        let thread = Thread { [unowned self] in run() }
        thread.name = "agentkernel-poller"
        thread.stackSize = 256 * 1024
        thread.start()
    }

    func ticket() -> Ticket {
        lock.withLock {
            lastTicket += 1
            return lastTicket
        }
    }

    /// Until one of the events is there; a descriptor below 0 never has any. Throws `AgentKernelError.timeout` at the
    /// deadline, and at once when the task is cancelled. `finish` ends it with no event at all: whoever calls that must
    /// look again in `isDone`, which is asked when the wait has begun.
    func wait(
        for events: Events = [], of descriptor: Int32 = -1, until deadline: ContinuousClock.Instant,
        as ticket: Ticket? = nil, isDone: () -> Bool = { false }
    ) async throws -> Events {
        let own = ticket ?? self.ticket()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                begin(own, Waiter(descriptor: descriptor, events: events, deadline: deadline, continuation: continuation))
                // What happened before the wait had begun found nothing to end.
                if Task.isCancelled { end(own, .failure(CancellationError())) }
                if isDone() { finish(own) }
            }
        } onCancel: {
            end(own, .failure(CancellationError()))
        }
    }

    func finish(_ ticket: Ticket) {
        end(ticket, .success([]))
    }

    private func begin(_ ticket: Ticket, _ waiter: Waiter) {
        lock.withLock {
            waiters[ticket] = waiter
            wakeUp()
        }
    }

    private func end(_ ticket: Ticket, _ result: Result<Events, any Error>) {
        let waiter = lock.withLock { waiters.removeValue(forKey: ticket) }
        waiter?.continuation.resume(with: result)
    }

    /// With the lock held.
    private func wakeUp() {
        guard !isWoken else { return }
        isWoken = true
        var byte: UInt8 = 1
        // A full pipe wakes as well.
        _ = write(wake.write, &byte, 1)
    }

    private func run() {
        var tickets: [Ticket] = []
        var descriptors: [pollfd] = []
        while true {
            let untilMs = prepare(&tickets, &descriptors)
            _ = poll(&descriptors, nfds_t(descriptors.count), untilMs)
            for (waiter, result) in take(tickets, descriptors) { waiter.continuation.resume(with: result) }
        }
    }

    /// What is waited for now, and for how many milliseconds at most; -1 for ever.
    private func prepare(_ tickets: inout [Ticket], _ descriptors: inout [pollfd]) -> Int32 {
        tickets.removeAll(keepingCapacity: true)
        descriptors.removeAll(keepingCapacity: true)
        descriptors.append(pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0))
        lock.lock()
        defer { lock.unlock() }
        var first: ContinuousClock.Instant?
        for (ticket, waiter) in waiters {
            tickets.append(ticket)
            descriptors.append(pollfd(fd: waiter.descriptor, events: waiter.events.rawValue, revents: 0))
            first = min(first ?? waiter.deadline, waiter.deadline)
        }
        guard let first else { return -1 }
        let left = first - .now
        return left <= .zero ? 0 : Int32(min(left.inMilliseconds.rounded(.up), 60_000))
    }

    private func take(_ tickets: [Ticket], _ descriptors: [pollfd]) -> [(Waiter, Result<Events, any Error>)] {
        var done: [(Waiter, Result<Events, any Error>)] = []
        let now = ContinuousClock.now
        lock.lock()
        defer { lock.unlock() }
        if descriptors[0].revents != 0 {
            var bytes = [UInt8](repeating: 0, count: 16)
            _ = read(wake.read, &bytes, bytes.count)
            isWoken = false
        }
        for (index, ticket) in tickets.enumerated() {
            guard let waiter = waiters[ticket] else { continue }
            let happened = descriptors[index + 1].revents
            if happened != 0 {
                // An error or a hang-up is found by whoever reads or writes next.
                let events = Events(rawValue: happened).intersection(waiter.events)
                done.append((waiter, .success(events.isEmpty ? waiter.events : events)))
            } else if waiter.deadline <= now {
                done.append((waiter, .failure(AgentKernelError.timeout)))
            } else {
                continue
            }
            waiters[ticket] = nil
        }
        return done
    }
}

extension Duration {
    var inMilliseconds: Double {
        Double(components.seconds) * 1000 + Double(components.attoseconds) / 1e15
    }
}

/// How long a request may wait.
enum Limit: Sendable {
    /// For all of it.
    case total(until: ContinuousClock.Instant)
    /// For each sign of life of the server's.
    case idle(Duration)

    var deadline: ContinuousClock.Instant {
        switch self {
        case .total(let until): return until
        case .idle(let duration): return .now + duration
        }
    }
}
