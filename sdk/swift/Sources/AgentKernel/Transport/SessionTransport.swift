import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// HTTPS, which Foundation's URLSession speaks. Limits are ours, since Foundation's differ from one system to the other.
struct SessionTransport: Transport {
    /// The base URL.
    let base: String

    func send(_ request: Outgoing, _ limit: Limit) async throws -> Answer {
        guard let url = URL(string: base + request.target) else {
            throw AgentKernelError.request("\(base)\(request.target) is not a URL")
        }
        // Longer than any limit, and not so long that Foundation cannot count it.
        var own = URLRequest(url: url, timeoutInterval: 7 * 24 * 3600)
        own.httpMethod = request.method
        own.httpBody = request.body
        for (name, value) in request.headers { own.setValue(value, forHTTPHeaderField: name) }
        let handle = SharedSession.shared.begin(own)
        let response = try await handle.body.head(limit)
        var headers: [String: String] = [:]
        for case let (name as String, value as String) in response.allHeaderFields { headers[name.lowercased()] = value }
        return Answer(status: response.statusCode, headers: headers, body: handle)
    }
}

/// One session for the whole program, which keeps its connections by host. It is never invalidated: on Linux, Foundation
/// can crash when a session ends.
private final class SharedSession: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    static let shared = SharedSession()
    private let lock = NSLock()
    private var bodies: [Int: SessionBody] = [:]
    private var made: URLSession?

    func begin(_ request: URLRequest) -> SessionHandle {
        let task = session().dataTask(with: request)
        let body = SessionBody(task)
        lock.withLock { bodies[task.taskIdentifier] = body }
        task.resume()
        return SessionHandle(body)
    }

    private func session() -> URLSession {
        lock.withLock {
            if let made { return made }
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpMaximumConnectionsPerHost = 64
            // Clients share nothing but connections.
            configuration.httpShouldSetCookies = false
            configuration.httpCookieStorage = nil
            configuration.urlCache = nil
            configuration.urlCredentialStorage = nil
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            let session = URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
            made = session
            return session
        }
    }

    private func body(of task: URLSessionTask) -> SessionBody? {
        lock.withLock { bodies[task.taskIdentifier] }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        body(of: dataTask)?.begin(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        body(of: dataTask)?.append(data)
    }

    /// A redirect would take the key elsewhere.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        lock.withLock { bodies.removeValue(forKey: task.taskIdentifier) }?.end(error)
    }
}

/// What the caller holds: when it is let go of, the request is cancelled.
private final class SessionHandle: AnswerBody {
    let body: SessionBody

    init(_ body: SessionBody) {
        self.body = body
    }

    deinit {
        body.cancel()
    }

    func next(_ limit: Limit) async throws -> [UInt8]? {
        try await body.next(limit)
    }
}

/// What has come of one task and is not read yet.
private final class SessionBody: @unchecked Sendable {
    /// Beyond this the task is suspended until all of it is read. Not on Linux, where a suspended task loses its
    /// connection: there a slow reader holds no server back.
    #if canImport(Darwin)
    private static let mostUnread = 1024 * 1024
    #else
    private static let mostUnread = Int.max
    #endif
    private let task: URLSessionDataTask
    private let ticket = Poller.shared.ticket()
    private let lock = NSLock()
    // Behind the lock.
    private var response: HTTPURLResponse?
    private var unread: [Data] = []
    private var unreadBytes = 0
    private var isSuspended = false
    private var ended: Result<Void, any Error>?

    init(_ task: URLSessionDataTask) {
        self.task = task
    }

    func head(_ limit: Limit) async throws -> HTTPURLResponse {
        while true {
            let (response, ended) = lock.withLock { (self.response, self.ended) }
            if let response { return response }
            try ended?.get()
            if ended != nil { throw AgentKernelError.badAnswer("the answer is not HTTP") }
            try await wait(limit) { $0.response != nil || $0.ended != nil }
        }
    }

    func next(_ limit: Limit) async throws -> [UInt8]? {
        while true {
            if let data = take() { return [UInt8](data) }
            if let ended = lock.withLock({ self.ended }) {
                // It may have ended between the two looks, with something to read.
                if let data = take() { return [UInt8](data) }
                try ended.get()
                return nil
            }
            try await wait(limit) { !$0.unread.isEmpty || $0.ended != nil }
        }
    }

    func cancel() {
        task.cancel()
    }

    func begin(_ response: URLResponse) {
        lock.withLock { self.response = response as? HTTPURLResponse }
        Poller.shared.finish(ticket)
    }

    func append(_ data: Data) {
        lock.withLock {
            unread.append(data)
            unreadBytes += data.count
            if unreadBytes > Self.mostUnread, !isSuspended {
                isSuspended = true
                task.suspend()
            }
        }
        Poller.shared.finish(ticket)
    }

    func end(_ error: (any Error)?) {
        lock.withLock { ended = error.map { .failure(Self.explain($0)) } ?? .success(()) }
        Poller.shared.finish(ticket)
    }

    private func take() -> Data? {
        lock.withLock {
            guard !unread.isEmpty else { return nil }
            let first = unread.removeFirst()
            unreadBytes -= first.count
            if unread.isEmpty, isSuspended {
                isSuspended = false
                task.resume()
            }
            return first
        }
    }

    private func wait(_ limit: Limit, _ isDone: (SessionBody) -> Bool) async throws {
        do {
            _ = try await Poller.shared.wait(until: limit.deadline, as: ticket) { lock.withLock { isDone(self) } }
        } catch {
            task.cancel()
            throw error
        }
    }

    private static func explain(_ error: any Error) -> any Error {
        switch (error as? URLError)?.code {
        case .cancelled: return CancellationError()
        case .timedOut: return AgentKernelError.timeout
        case .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .secureConnectionFailed, .serverCertificateUntrusted:
            return AgentKernelError.transport("the server could not be reached: \(error)", unsent: true)
        default: return AgentKernelError.transport("the connection broke: \(error)", unsent: false)
        }
    }
}
