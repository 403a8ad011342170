import ArgumentParser

/// `defaults bridge`.
struct Bridge: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bridge",
        abstract: "Talk to the agent in lines of JSON.",
        discussion: """
            For programs in any language: each line of standard input is a request to the agent, and each line of \
            standard output is an answer or an event. They are the messages of the protocol, as objects; the \
            documentation describes them on its pages "The protocol" and "Use it from any language". Each request has \
            a "request", a number that its answer and events repeat, and a "type": read, edit, synchronize, subscribe, \
            unsubscribe, widen, narrow, domains, history or status. Values are as in `tail --json`; an integer beyond \
            2^53 is {"$integer": "text"}.

            The command greets the agent, starts one if none is running, and finds it again after a restart. Then \
            subscriptions resume, unanswered requests are sent again, and no edit is made twice. Each \
            connection to an agent begins with a line of the type "welcome". The command ends when its input has ended \
            and everything is answered.

            EXAMPLES
              echo '{"request":1,"type":"status"}' | defaults bridge | jq .status
              defaults bridge <requests >answers
            """)

    @OptionGroup var location: LocationOptions

    func run() throws {
        var session = BridgeSession(try location.agentSearch(for: "bridge"))
        try session.run()
    }
}
