import Foundation

/// Requests to one server: with its key, within their time, sent again where that is safe, and answers taken apart.
final class Connection: Sendable {
    private let place: Result<Place, AgentKernelError>
    private let transport: any Transport
    private let folders: LocalFolders
    private let prefix: String
    private let apiKey: String?
    private let requestTimeout: Duration
    private let maxRetries: Int

    private struct Envelope<T: Decodable>: Decodable {
        let success: Bool
        let data: T
    }

    private struct Failure: Decodable {
        let error: ApiError
    }

    init(baseURL: String?, apiKey: String?, requestTimeout: Duration, maxRetries: Int, folders: LocalFolders) {
        place = Result { try Place.find(baseURL, folders) }
            .mapError { $0 as? AgentKernelError ?? .request("\($0)") }
        self.folders = folders
        self.apiKey = apiKey ?? folders.variable("AGENTKERNEL_API_KEY")
        self.requestTimeout = requestTimeout
        self.maxRetries = maxRetries
        switch place {
        case .success(.unix(let path)):
            prefix = ""
            transport = SocketTransport(.unix(path: path), authority: "localhost")
        case .success(.tcp(let host, let port, let authority, let own)):
            prefix = own
            transport = SocketTransport(.tcp(host: host, port: port), authority: authority)
        case .success(.tls(_, _, let base)):
            prefix = ""
            transport = SessionTransport(base: base)
        case .failure(let error):
            prefix = ""
            transport = NoTransport(error: error)
        }
    }

    /// What is in the envelope.
    func data<T: Decodable>(_ type: T.Type, _ call: Call) async throws -> T {
        let body = try await content(call)
        do {
            let envelope = try JSONDecoder().decode(Envelope<T>.self, from: body)
            guard envelope.success else { throw AgentKernelError.badAnswer("the answer has no data") }
            return envelope.data
        } catch let error as DecodingError {
            throw AgentKernelError.badAnswer("the answer is not in the form that it should be: \(error)")
        }
    }

    func content(_ call: Call) async throws -> Data {
        let limit = Limit.total(until: .now + requestTimeout + call.commandTime)
        return try await open(call, limit).whole(limit)
    }

    func events(_ call: Call) -> CommandEvents {
        CommandEvents(connection: self, call: call, limit: .idle(requestTimeout))
    }

    /// The body of an answer that is no error.
    func open(_ call: Call, _ limit: Limit) async throws -> any AnswerBody {
        var attempt = 0
        while true {
            do {
                return try await send(call, limit)
            } catch let error as AgentKernelError {
                guard attempt < maxRetries, let pause = Retry.pause(after: error, method: call.method, attempt: attempt)
                else { throw error }
                try await sleep(pause, within: limit)
            }
            attempt += 1
        }
    }

    private func sleep(_ pause: Duration, within limit: Limit) async throws {
        let end = ContinuousClock.now + pause
        guard end < limit.deadline else { throw AgentKernelError.timeout }
        try await Task.sleep(until: end, clock: .continuous)
    }

    private func send(_ call: Call, _ limit: Limit) async throws -> any AnswerBody {
        let answer = try await transport.send(request(call), limit)
        if (200..<300).contains(answer.status) { return answer.body }
        let whole = try await answer.body.whole(limit)
        guard var failure = try? JSONDecoder().decode(Failure.self, from: whole).error else {
            throw AgentKernelError.badAnswer("the answer was \(answer.status), and not in the form of agentkernel's errors")
        }
        failure.status = answer.status
        if let seconds = answer.headers["retry-after"].flatMap(Double.init), seconds >= 0, seconds < 1e9 {
            failure.retryAfter = .seconds(seconds)
        }
        throw AgentKernelError.api(failure)
    }

    private func request(_ call: Call) throws -> Outgoing {
        var headers: [(name: String, value: String)] = []
        if let contentType = call.contentType { headers.append(("Content-Type", contentType)) }
        if let key = try apiKey ?? place.get().localToken(folders) { headers.append(("Authorization", "Bearer \(key)")) }
        // A body of length 0 is one as well; without its length some servers wait for it.
        let body = call.body ?? (["POST", "PUT"].contains(call.method) ? Data() : nil)
        return Outgoing(method: call.method, target: prefix + call.target, headers: headers, body: body)
    }
}

/// In place of one where the base URL makes no sense, which the first call tells.
private struct NoTransport: Transport {
    let error: AgentKernelError

    func send(_ request: Outgoing, _ limit: Limit) async throws -> Answer {
        throw error
    }
}
