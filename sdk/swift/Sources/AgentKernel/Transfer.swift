import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// One request with URLSession, whose body comes piece by piece also where Foundation has no async bytes. Cancelling the
/// task that reads it hangs up.
final class Transfer: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Touched only on the session's queue, which does one thing at a time, and before the request is sent.
    private var head: CheckedContinuation<HTTPURLResponse, any Error>?
    private var session: URLSession?
    private var isAnswered = false
    private let body: AsyncThrowingStream<Data, any Error>
    private let pieces: AsyncThrowingStream<Data, any Error>.Continuation

    private override init() {
        (body, pieces) = AsyncThrowingStream.makeStream(of: Data.self)
    }

    /// `idleSeconds`: how long nothing at all may come.
    static func send(
        _ request: URLRequest, idleSeconds: Double
    ) async throws -> (HTTPURLResponse, AsyncThrowingStream<Data, any Error>) {
        let transfer = Transfer()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = idleSeconds
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let session = URLSession(configuration: configuration, delegate: transfer, delegateQueue: queue)
        transfer.session = session
        let task = session.dataTask(with: request)
        transfer.pieces.onTermination = { _ in task.cancel() }
        let response = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                transfer.head = continuation
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
        return (response, transfer.body)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        guard let response = response as? HTTPURLResponse else { return completionHandler(.cancel) }
        isAnswered = true
        head?.resume(returning: response)
        head = nil
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        pieces.yield(data)
    }

    /// A redirect would take the key elsewhere.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let failure = error.map { explain($0) }
        head?.resume(throwing: failure ?? AgentKernelError.badAnswer("the answer is not HTTP"))
        head = nil
        pieces.finish(throwing: failure)
        session.finishTasksAndInvalidate()
    }

    private func explain(_ error: any Error) -> any Error {
        switch (error as? URLError)?.code {
        case .cancelled: return CancellationError()
        case .timedOut: return AgentKernelError.timeout
        case .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .secureConnectionFailed:
            return AgentKernelError.transport("the server could not be reached: \(error)", unsent: true)
        default: return AgentKernelError.transport("the connection broke: \(error)", unsent: false)
        }
    }
}
