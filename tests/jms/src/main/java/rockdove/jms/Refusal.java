package rockdove.jms;

import com.amazon.sqs.javamessaging.SQSSession;
import jakarta.jms.JMSException;
import jakarta.jms.Session;

/** What is refused, by the service or by the library. */
final class Refusal {
    private static final String FIRST_ACCOUNT = "000000000000";

    private Refusal() {}

    private interface Attempt {
        void run() throws JMSException;
    }

    private static void attempt(String name, Attempt attempt) {
        try {
            attempt.run();
            Report.say(name, "no error");
        } catch (JMSException error) {
            Report.say(name, error.getClass().getSimpleName() + " " + error.getErrorCode());
        }
    }

    /** What the service says to a send into a queue of one's own, and of the first account. */
    static void refused(Place place) throws JMSException {
        try (var connection = place.connect();
                var session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE)) {
            attempt("own", () -> {
                var queue = session.createQueue(place.queue());
                session.createProducer(queue).send(session.createTextMessage("hello"));
            });
            attempt("first account's", () -> {
                var queue = ((SQSSession) session).createQueue(place.queue(), FIRST_ACCOUNT);
                session.createProducer(queue).send(session.createTextMessage("hello"));
            });
        }
    }

    /** What the library leaves out. */
    static void unsupported(Place place) throws JMSException {
        try (var connection = place.connect();
                var session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE)) {
            var queue = session.createQueue(place.queue());
            attempt("transactions", () -> connection.createSession(true, Session.SESSION_TRANSACTED));
            attempt("map message", session::createMapMessage);
            attempt("stream message", session::createStreamMessage);
            attempt("selector", () -> session.createConsumer(queue, "city = 'Bern'"));
            attempt("topic", () -> session.createTopic("news"));
            attempt("temporary queue", session::createTemporaryQueue);
            attempt("browser", () -> session.createBrowser(queue));
        }
    }
}
