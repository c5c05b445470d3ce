import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct Call {
    var method: String
    var path: String
    var query: [URLQueryItem] = []
    var contentType: String?
    var body: Data?
    /// Time limits of the commands that it is about.
    var commandMs = 0.0

    init(_ method: String, _ path: String, query: [URLQueryItem] = []) {
        self.method = method
        self.path = path
        self.query = query
    }

    func json(_ value: some Encodable) throws -> Call {
        var call = self
        call.body = try JSONEncoder().encode(value)
        call.contentType = "application/json"
        return call
    }

    func bytes(_ content: Data) -> Call {
        var call = self
        call.body = content
        call.contentType = "application/octet-stream"
        return call
    }

    func taking(_ commandMs: Double) -> Call {
        var call = self
        call.commandMs = commandMs
        return call
    }
}

/// Requests to one server: with its key, within their time, sent again where that is safe, and answers taken apart.
struct Connection: Sendable {
    let baseURL: String
    let apiKey: String?
    let requestTimeoutMs: Double
    let maxRetries: Int

    private struct Envelope<T: Decodable>: Decodable {
        let data: T
    }

    private struct Failure: Decodable {
        let error: ApiError
    }

    /// What is in the envelope.
    func data<T: Decodable>(_ type: T.Type, _ call: Call) async throws -> T {
        let body = try await content(call)
        do {
            return try JSONDecoder().decode(Envelope<T>.self, from: body).data
        } catch {
            throw AgentKernelError.badAnswer("the answer is not in the form that it should be: \(error)")
        }
    }

    func content(_ call: Call) async throws -> Data {
        var whole = Data()
        for try await piece in try await open(call) { whole.append(piece) }
        return whole
    }

    func events(_ call: Call) -> AsyncThrowingStream<CommandEvent, any Error> {
        AsyncThrowingStream { continuation in
            let reading = Task {
                do {
                    var parser = EventParser()
                    for try await piece in try await open(call) {
                        for (event, data) in parser.push(piece) {
                            guard let read = try CommandEvent.read(event, data) else { continue }
                            continuation.yield(read)
                            if case .exit = read { return continuation.finish() }
                        }
                    }
                    try Task.checkCancellation()
                    throw AgentKernelError.transport("the stream ended before the command did", unsent: false)
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            // Whoever leaves the loop ends the command.
            continuation.onTermination = { _ in reading.cancel() }
        }
    }

    private func open(_ call: Call) async throws -> AsyncThrowingStream<Data, any Error> {
        var attempt = 0
        while true {
            do {
                return try await send(call)
            } catch let error as AgentKernelError {
                guard attempt < maxRetries,
                    let pauseMs = Retry.pauseMs(after: error, method: call.method, attempt: attempt)
                else { throw error }
                try await Task.sleep(nanoseconds: UInt64(pauseMs * 1_000_000))
            }
            attempt += 1
        }
    }

    private func send(_ call: Call) async throws -> AsyncThrowingStream<Data, any Error> {
        let limit = (requestTimeoutMs + call.commandMs) / 1000
        let (response, body) = try await Transfer.send(try request(call, limit), idleSeconds: limit)
        if response.statusCode < 300 { return body }
        var whole = Data()
        for try await piece in body { whole.append(piece) }
        guard var failure = try? JSONDecoder().decode(Failure.self, from: whole).error else {
            throw AgentKernelError.badAnswer(
                "the answer was \(response.statusCode), and not in the form of agentkernel's errors")
        }
        failure.status = response.statusCode
        failure.retryAfterMs = response.value(forHTTPHeaderField: "Retry-After").flatMap(Double.init).map { $0 * 1000 }
        throw AgentKernelError.api(failure)
    }

    private func request(_ call: Call, _ limit: Double) throws -> URLRequest {
        guard var parts = URLComponents(string: baseURL), ["http", "https"].contains(parts.scheme), parts.host != nil
        else {
            throw AgentKernelError.request(
                "the base URL \(baseURL) is of no kind that is known: give http://host:port or https://host:port")
        }
        parts.percentEncodedPath += call.path
        if !call.query.isEmpty { parts.queryItems = call.query }
        guard let url = parts.url else { throw AgentKernelError.request("\(call.path) is not a path") }
        var request = URLRequest(url: url, timeoutInterval: limit)
        request.httpMethod = call.method
        request.httpBody = call.body
        if let contentType = call.contentType { request.setValue(contentType, forHTTPHeaderField: "Content-Type") }
        if let key = apiKey ?? localToken(url) {
            request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization")
        }
        return request
    }
}

/// One segment of a path.
func encoded(_ word: String) -> String {
    let plain = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    return word.addingPercentEncoding(withAllowedCharacters: plain) ?? word
}
