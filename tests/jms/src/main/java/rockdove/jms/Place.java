package rockdove.jms;

import com.amazon.sqs.javamessaging.ProviderConfiguration;
import com.amazon.sqs.javamessaging.SQSConnection;
import com.amazon.sqs.javamessaging.SQSConnectionFactory;
import jakarta.jms.JMSException;
import java.net.URI;
import software.amazon.awssdk.core.SdkRequest;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.model.ReceiveMessageRequest;

/** The service and the queue that a scenario uses. Region and credentials come from the environment. */
record Place(String endpoint, String queue) {
    /** How long a message that has to be there may take. */
    static final long PATIENCE_MS = 20_000;

    /** A connection whose consumers fetch a message when it is asked for, and none before. */
    SQSConnection connect() throws JMSException {
        return connect(0);
    }

    SQSConnection connect(int prefetch) throws JMSException {
        var configuration = new ProviderConfiguration().withNumberOfMessagesToPrefetch(prefetch);
        var client = SqsClient.builder()
                .endpointOverride(URI.create(endpoint))
                .overrideConfiguration(override -> override.addExecutionInterceptor(new ShortPolls()));
        return new SQSConnectionFactory(configuration, client).createConnection();
    }

    /** A consumer that closes waits for its long poll to end: here that takes a second, not the library's twenty. */
    private static final class ShortPolls implements ExecutionInterceptor {
        private static final int LONGEST_S = 1;

        @Override
        public SdkRequest modifyRequest(Context.ModifyRequest context, ExecutionAttributes attributes) {
            if (context.request() instanceof ReceiveMessageRequest receive && receive.waitTimeSeconds() > LONGEST_S) {
                return receive.toBuilder().waitTimeSeconds(LONGEST_S).build();
            }
            return context.request();
        }
    }
}
