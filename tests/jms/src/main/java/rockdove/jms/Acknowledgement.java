package rockdove.jms;

import com.amazon.sqs.javamessaging.SQSSession;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageConsumer;
import jakarta.jms.Session;
import java.util.ArrayList;
import java.util.List;

/** Which messages are gone, and which come back. The queue has four when each begins. */
final class Acknowledgement {
    private Acknowledgement() {}

    private interface Step {
        void run(Session session, MessageConsumer consumer) throws JMSException;
    }

    private static void with(Place place, int mode, int prefetch, Step step) throws JMSException {
        try (var connection = place.connect(prefetch);
                var session = connection.createSession(false, mode)) {
            connection.start();
            step.run(session, session.createConsumer(session.createQueue(place.queue())));
        }
    }

    private static List<Message> take(MessageConsumer consumer, int count) throws JMSException {
        var messages = new ArrayList<Message>();
        for (int number = 0; number < count; number++) {
            var message = consumer.receive(Place.PATIENCE_MS);
            Report.say("received", Report.text(message));
            messages.add(message);
        }
        return messages;
    }

    /** Takes two, and acknowledges none itself. */
    static void auto(Place place) throws JMSException {
        with(place, Session.AUTO_ACKNOWLEDGE, 0, (session, consumer) -> take(consumer, 2));
    }

    /** Takes three, and acknowledges the second of them. */
    static void client(Place place) throws JMSException {
        with(place, Session.CLIENT_ACKNOWLEDGE, 0, (session, consumer) -> take(consumer, 3).get(1).acknowledge());
    }

    /** The same, where a message stands for itself. */
    static void unordered(Place place) throws JMSException {
        with(
                place,
                SQSSession.UNORDERED_ACKNOWLEDGE,
                0,
                (session, consumer) -> take(consumer, 3).get(1).acknowledge());
    }

    /** Takes all, acknowledges the first, and gives back the others, which it takes again. */
    static void recover(Place place) throws JMSException {
        with(place, Session.CLIENT_ACKNOWLEDGE, 0, (session, consumer) -> {
            take(consumer, 4).get(0).acknowledge();
            session.recover();
            Report.say("recovered", true);
            var again = take(consumer, 3);
            for (var message : again) {
                Report.say("redelivered", message.getJMSRedelivered());
                Report.say("deliveries", message.getIntProperty("JMSXDeliveryCount"));
            }
            again.get(2).acknowledge();
        });
    }

    /** Takes one and fetches the others, and ends with nothing acknowledged. */
    static void close(Place place) throws JMSException {
        with(place, Session.CLIENT_ACKNOWLEDGE, 10, (session, consumer) -> take(consumer, 1));
    }
}
