package rockdove.jms;

import jakarta.jms.JMSException;
import jakarta.jms.MessageListener;
import jakarta.jms.Session;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Messages that come to a listener, on a thread of the library's. */
final class Listening {
    private Listening() {}

    private static void with(Place place, int deliveries, MessageListener listener) throws Exception {
        var expected = new CountDownLatch(deliveries);
        try (var connection = place.connect(10);
                var session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE)) {
            session.createConsumer(session.createQueue(place.queue())).setMessageListener(message -> {
                try {
                    listener.onMessage(message);
                } finally {
                    expected.countDown();
                }
            });
            connection.start();
            Report.say("listening", true);
            if (!expected.await(2 * Place.PATIENCE_MS, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException(expected.getCount() + " messages did not come");
            }
        }
    }

    /** Three messages. */
    static void listen(Place place) throws Exception {
        var main = Thread.currentThread();
        with(place, 3, message -> {
            try {
                Report.say("heard", Report.text(message));
                Report.say("elsewhere", Thread.currentThread() != main);
            } catch (JMSException error) {
                throw new IllegalStateException(error);
            }
        });
    }

    /** One message, which fails when it comes for the first time. */
    static void failOnce(Place place) throws Exception {
        with(place, 2, message -> {
            try {
                Report.say("heard", Report.text(message));
                Report.say("redelivered", message.getJMSRedelivered());
                if (!message.getJMSRedelivered()) {
                    throw new IllegalStateException("on purpose");
                }
            } catch (JMSException error) {
                throw new IllegalStateException(error);
            }
        });
    }
}
