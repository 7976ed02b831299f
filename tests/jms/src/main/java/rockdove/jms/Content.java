package rockdove.jms;

import com.amazon.sqs.javamessaging.message.SQSMessage;
import jakarta.jms.BytesMessage;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.ObjectMessage;
import jakarta.jms.Queue;
import jakarta.jms.Session;
import jakarta.jms.TextMessage;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;

/** What messages carry. */
final class Content {
    private static final String TEXT = "grüße, 🕊 <&>";

    private Content() {}

    /** Each kind of message, with each kind of property. */
    static void roundTrip(Place place) throws JMSException {
        try (var connection = place.connect();
                var session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE)) {
            connection.start();
            var queue = session.createQueue(place.queue());
            var producer = session.createProducer(queue);
            var consumer = session.createConsumer(queue);
            var bytes = session.createBytesMessage();
            bytes.writeBytes(new byte[] {0, 1, (byte) 0xfe, (byte) 0xff});
            bytes.writeInt(42);
            var map = new TreeMap<String, Object>();
            map.put("list", List.of(1, 2, 3));
            map.put("name", "Zürich");
            for (Message message : List.of(
                    session.createTextMessage(TEXT),
                    bytes,
                    session.createObjectMessage("an object"),
                    session.createObjectMessage(map))) {
                setProperties(message);
                message.setJMSCorrelationID("request 7");
                producer.send(message);
                Report.say("sent", message.getJMSMessageID());
                say(consumer.receive(Place.PATIENCE_MS));
            }
        }
    }

    private static void setProperties(Message message) throws JMSException {
        message.setStringProperty("string", "Zürich");
        message.setBooleanProperty("boolean", true);
        message.setByteProperty("byte", (byte) -1);
        message.setShortProperty("short", (short) 300);
        message.setIntProperty("int", 70_000);
        message.setLongProperty("long", 1L << 40);
        message.setFloatProperty("float", 0.5f);
        message.setDoubleProperty("double", 1e100);
    }

    private static void say(Message message) throws JMSException {
        Report.say("received", message.getJMSMessageID());
        Report.say("correlation", message.getJMSCorrelationID());
        Report.say("redelivered", message.getJMSRedelivered());
        Report.properties(message);
        if (message instanceof TextMessage text) {
            Report.say("text", text.getText());
        } else if (message instanceof BytesMessage bytes) {
            var content = new byte[(int) bytes.getBodyLength()];
            bytes.readBytes(content);
            Report.say("bytes", HexFormat.of().formatHex(content));
        } else {
            Report.say("object", ((ObjectMessage) message).getObject());
        }
    }

    /** A text for another program. */
    static void send(Place place) throws JMSException {
        try (var connection = place.connect();
                var session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE)) {
            var message = session.createTextMessage(TEXT);
            message.setStringProperty("city", "Zürich");
            message.setIntProperty("number", 42);
            session.createProducer(session.createQueue(place.queue())).send(message);
            Report.say("id", ((SQSMessage) message).getSQSMessageId());
        }
    }

    /** What another program has sent. */
    static void receive(Place place) throws JMSException {
        try (var connection = place.connect();
                var session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE)) {
            connection.start();
            say(session.createConsumer(session.createQueue(place.queue())).receive(Place.PATIENCE_MS));
        }
    }

    /** A request, and its reply in the queue that the request names. */
    static void reply(Place place) throws JMSException {
        try (var connection = place.connect();
                var session = connection.createSession(false, Session.AUTO_ACKNOWLEDGE)) {
            connection.start();
            var requests = session.createQueue(place.queue());
            var replies = session.createQueue(place.queue() + "-replies");
            var request = session.createTextMessage("6 * 7");
            request.setJMSReplyTo(replies);
            request.setJMSCorrelationID("sum");
            session.createProducer(requests).send(request);

            var asked = session.createConsumer(requests).receive(Place.PATIENCE_MS);
            var answer = session.createTextMessage("42");
            answer.setJMSCorrelationID(asked.getJMSCorrelationID());
            session.createProducer((Queue) asked.getJMSReplyTo()).send(answer);

            var answered = session.createConsumer(replies).receive(Place.PATIENCE_MS);
            Report.say(answered.getJMSCorrelationID(), Report.text(answered));
        }
    }
}
