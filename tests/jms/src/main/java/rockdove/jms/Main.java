package rockdove.jms;

import java.util.Map;

/** Runs one scenario: its arguments are the endpoint, the scenario's name and the queue's. */
public final class Main {
    private interface Scenario {
        void run(Place place) throws Exception;
    }

    private static final Map<String, Scenario> SCENARIOS = Map.ofEntries(
            Map.entry("round-trip", Content::roundTrip),
            Map.entry("send", Content::send),
            Map.entry("receive", Content::receive),
            Map.entry("reply", Content::reply),
            Map.entry("auto", Acknowledgement::auto),
            Map.entry("client", Acknowledgement::client),
            Map.entry("unordered", Acknowledgement::unordered),
            Map.entry("recover", Acknowledgement::recover),
            Map.entry("close", Acknowledgement::close),
            Map.entry("listen", Listening::listen),
            Map.entry("listen-twice", Listening::failOnce),
            Map.entry("groups", Groups::order),
            Map.entry("groups-recover", Groups::recover),
            Map.entry("unsupported", Refusal::unsupported),
            Map.entry("refused", Refusal::refused));

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        SCENARIOS.get(arguments[1]).run(new Place(arguments[0], arguments[2]));
    }
}
