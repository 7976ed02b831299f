package rockdove.jms;

import com.amazon.sqs.javamessaging.SQSMessagingClientConstants;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.MessageProducer;
import jakarta.jms.Session;

/** Message groups of a FIFO queue. */
final class Groups {
    private Groups() {}

    private static void send(Session session, MessageProducer producer, String group, String text) throws JMSException {
        var message = session.createTextMessage(text);
        message.setStringProperty(SQSMessagingClientConstants.JMSX_GROUP_ID, group);
        message.setStringProperty(SQSMessagingClientConstants.JMS_SQS_DEDUPLICATION_ID, text);
        producer.send(message);
        say("sent", message);
    }

    private static void say(String word, Message message) throws JMSException {
        var number = message.getStringProperty(SQSMessagingClientConstants.JMS_SQS_SEQUENCE_NUMBER);
        var group = message.getStringProperty(SQSMessagingClientConstants.JMSX_GROUP_ID);
        Report.say(word, group + " " + number + " " + Report.text(message));
    }

    /** Two groups in turn, and one message twice. */
    static void order(Place place) throws JMSException {
        try (var connection = place.connect();
                var session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE)) {
            connection.start();
            var queue = session.createQueue(place.queue());
            var producer = session.createProducer(queue);
            for (int number = 0; number < 3; number++) {
                send(session, producer, "a", "a" + number);
                send(session, producer, "b", "b" + number);
            }
            send(session, producer, "a", "a0");
            var consumer = session.createConsumer(queue);
            for (int number = 0; number < 6; number++) {
                say("received", consumer.receive(Place.PATIENCE_MS));
            }
        }
    }

    /** Three messages of a group: the second and the third are given back, while the third was only fetched. */
    static void recover(Place place) throws JMSException {
        try (var connection = place.connect(10);
                var session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE)) {
            var queue = session.createQueue(place.queue());
            var producer = session.createProducer(queue);
            for (int number = 0; number < 3; number++) {
                send(session, producer, "a", "a" + number);
            }
            connection.start();
            var consumer = session.createConsumer(queue);
            consumer.receive(Place.PATIENCE_MS).acknowledge();
            Report.say("given back", Report.text(consumer.receive(Place.PATIENCE_MS)));
            session.recover();
            for (int number = 1; number < 3; number++) {
                var message = consumer.receive(Place.PATIENCE_MS);
                say("received", message);
                message.acknowledge();
            }
        }
    }
}
