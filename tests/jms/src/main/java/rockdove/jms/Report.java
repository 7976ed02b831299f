package rockdove.jms;

import com.amazon.sqs.javamessaging.message.SQSMessage;
import jakarta.jms.JMSException;
import jakarta.jms.Message;
import jakarta.jms.TextMessage;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;

/** Lines of a name and a value, which the test reads. */
final class Report {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    private Report() {}

    static void say(String name, Object value) {
        OUT.println(name + "=" + value);
    }

    static void properties(Message message) throws JMSException {
        for (var name : Collections.list(((SQSMessage) message).getPropertyNames())) {
            Object value = message.getObjectProperty(name);
            say(name, value + (value == null ? "" : " " + value.getClass().getSimpleName()));
        }
    }

    /** The text of a message that has to be there. */
    static String text(Message message) throws JMSException {
        if (message == null) {
            throw new IllegalStateException("no message");
        }
        return ((TextMessage) message).getText();
    }
}
