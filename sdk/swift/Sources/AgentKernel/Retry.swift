/// When a request may be sent once more: where nothing of it reached the server, where the server refused it before doing
/// anything, and where it only reads. Never a command that may have run.
enum Retry {
    private static let firstPause = Duration.milliseconds(100)
    /// Whoever is told to wait for longer decides about it.
    private static let longestPause = Duration.seconds(30)

    /// How long to wait before the next attempt; nil: there is none.
    static func pause(after error: AgentKernelError, method: String, attempt: Int) -> Duration? {
        switch error {
        case .transport(_, let unsent):
            return unsent || method == "GET" ? backOff(attempt) : nil
        case .api(let refused) where mayRepeat(refused, method: method):
            let pause = refused.retryAfter ?? backOff(attempt)
            return pause > longestPause ? nil : pause
        default:
            return nil
        }
    }

    private static func mayRepeat(_ refused: ApiError, method: String) -> Bool {
        if refused.code == .tooManyRequests { return true }
        return method == "GET" && [429, 502, 503, 504].contains(refused.status ?? 0)
    }

    private static func backOff(_ attempt: Int) -> Duration {
        firstPause * Double(1 << min(attempt, 8)) * Double.random(in: 0.5...1)
    }
}
