/// When a request may be sent once more: where nothing of it reached the server, where the server refused it before doing
/// anything, and where it only reads. Never a command that may have run.
enum Retry {
    private static let firstPauseMs = 100.0
    /// Whoever is told to wait for longer decides about it.
    private static let maxPauseMs = 30_000.0

    /// How many milliseconds to wait before the next attempt; nil: there is none.
    static func pauseMs(after error: AgentKernelError, method: String, attempt: Int) -> Double? {
        switch error {
        case .transport(_, let unsent):
            return unsent || method == "GET" ? backOffMs(attempt) : nil
        case .api(let refused) where mayRepeat(refused, method: method):
            let pauseMs = refused.retryAfterMs ?? backOffMs(attempt)
            return pauseMs > maxPauseMs ? nil : pauseMs
        default:
            return nil
        }
    }

    private static func mayRepeat(_ refused: ApiError, method: String) -> Bool {
        if refused.code == .tooManyRequests { return true }
        return method == "GET" && [429, 502, 503, 504].contains(refused.status ?? 0)
    }

    private static func backOffMs(_ attempt: Int) -> Double {
        firstPauseMs * Double(1 << attempt) * Double.random(in: 0.5...1)
    }
}
