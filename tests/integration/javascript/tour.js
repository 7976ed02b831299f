// Goes through the service with the AWS SDK for JavaScript and prints what happened as one JSON document.
// usage: node tour.js ENDPOINT QUEUE_NAME_PREFIX
import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  PurgeQueueCommand,
  QueueDoesNotExist,
  ReceiptHandleIsInvalid,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
  SQSServiceException,
  paginateListQueues,
} from "@aws-sdk/client-sqs";

const [endpoint, prefix] = process.argv.slice(2);
const client = new SQSClient({
  endpoint,
  region: "us-east-1",
  credentials: { accessKeyId: process.env.AWS_ACCESS_KEY_ID, secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY },
  maxAttempts: 1,
});
const send = (command) => client.send(command);

async function create(suffix, Attributes) {
  const { QueueUrl } = await send(new CreateQueueCommand({ QueueName: prefix + suffix, Attributes }));
  return QueueUrl;
}

async function receive(QueueUrl, options = {}) {
  const answer = await send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, ...options }));
  return answer.Messages ?? [];
}

async function counts(QueueUrl) {
  const AttributeNames = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
  return (await send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames }))).Attributes;
}

// Compares MD5s on the way out and back: the SDK throws on a mismatch.
async function message() {
  const QueueUrl = await create("-message");
  const sent = await send(
    new SendMessageCommand({
      QueueUrl,
      MessageBody: "grüße, 🕊",
      MessageAttributes: {
        text: { DataType: "String", StringValue: "v" },
        number: { DataType: "Number", StringValue: "42" },
        bytes: { DataType: "Binary", BinaryValue: Uint8Array.of(0, 1, 254, 255) },
      },
    }),
  );
  const [first] = await receive(QueueUrl, { MessageAttributeNames: ["All"], MessageSystemAttributeNames: ["All"] });
  const ReceiptHandle = first.ReceiptHandle;
  await send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout: 0 }));
  const [second] = await receive(QueueUrl, { MessageSystemAttributeNames: ["ApproximateReceiveCount"] });
  await send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: second.ReceiptHandle }));
  return {
    url: QueueUrl,
    sentId: sent.MessageId,
    receivedId: first.MessageId,
    body: first.Body,
    text: first.MessageAttributes.text.StringValue,
    number: first.MessageAttributes.number.StringValue,
    bytes: [...first.MessageAttributes.bytes.BinaryValue],
    receiveCounts: [first, second].map((each) => each.Attributes.ApproximateReceiveCount),
    left: await counts(QueueUrl),
  };
}

async function batch() {
  const QueueUrl = await create("-batch");
  const Entries = [...Array(10).keys()].map((number) => ({
    Id: `e${number}`,
    MessageBody: `body ${number}`,
    DelaySeconds: number === 3 ? 901 : 0,
  }));
  const sent = await send(new SendMessageBatchCommand({ QueueUrl, Entries }));
  const messages = await receive(QueueUrl);
  const gone = await send(
    new DeleteMessageBatchCommand({
      QueueUrl,
      Entries: messages.map(({ ReceiptHandle }, number) => ({ Id: `d${number}`, ReceiptHandle })),
    }),
  );
  return {
    successful: sent.Successful.map(({ Id }) => Id),
    failed: sent.Failed.map(({ Id, Code, SenderFault }) => ({ Id, Code, SenderFault })),
    bodies: messages.map(({ Body }) => Body).sort(),
    deleted: gone.Successful.length,
    left: await counts(QueueUrl),
  };
}

async function longPoll() {
  const QueueUrl = await create("-poll");
  const began = performance.now();
  const waiting = receive(QueueUrl, { WaitTimeSeconds: 10 });
  await new Promise((resolve) => setTimeout(resolve, 700));
  await send(new SendMessageCommand({ QueueUrl, MessageBody: "wake up" }));
  const messages = await waiting;
  return { bodies: messages.map(({ Body }) => Body), waitedMs: performance.now() - began };
}

async function fifo() {
  const QueueUrl = await create("-order.fifo", { FifoQueue: "true", ContentBasedDeduplication: "true" });
  const sequence = [];
  for (const MessageBody of ["one", "two", "three", "one"]) {
    const sent = await send(new SendMessageCommand({ QueueUrl, MessageBody, MessageGroupId: "g" }));
    sequence.push(sent.SequenceNumber);
  }
  const messages = await receive(QueueUrl, { MessageSystemAttributeNames: ["All"] });
  return {
    sequence,
    bodies: messages.map(({ Body }) => Body),
    groups: messages.map(({ Attributes }) => Attributes.MessageGroupId),
    received: messages.map(({ Attributes }) => Attributes.SequenceNumber),
  };
}

async function list() {
  const created = [];
  for (let number = 0; number < 5; number += 1) created.push(await create(`-list-${number}`));
  const QueueNamePrefix = `${prefix}-list-`;
  const pages = [];
  for await (const page of paginateListQueues({ client, pageSize: 2 }, { QueueNamePrefix })) {
    pages.push(page.QueueUrls);
  }
  const whole = await send(new ListQueuesCommand({ QueueNamePrefix }));
  return { created, pages, whole: whole.QueueUrls };
}

async function purge() {
  const QueueUrl = await create("-purge");
  await send(new SendMessageCommand({ QueueUrl, MessageBody: "x" }));
  await send(new PurgeQueueCommand({ QueueUrl }));
  return counts(QueueUrl);
}

async function caught(command) {
  try {
    await send(command);
  } catch (error) {
    return {
      name: error.name,
      message: error.message,
      status: error.$metadata?.httpStatusCode,
      requestId: error.$metadata?.requestId,
      isQueueDoesNotExist: error instanceof QueueDoesNotExist,
      isReceiptHandleIsInvalid: error instanceof ReceiptHandleIsInvalid,
      isServiceException: error instanceof SQSServiceException,
    };
  }
  return null;
}

async function errors() {
  const QueueUrl = await create("-errors");
  return {
    missingQueue: await caught(new GetQueueUrlCommand({ QueueName: `${prefix}-none` })),
    missingUrl: await caught(new SendMessageCommand({ QueueUrl: `${QueueUrl}-none`, MessageBody: "x" })),
    badHandle: await caught(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: "nonsense" })),
    badCount: await caught(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 11 })),
  };
}

const report = {};
for (const step of [message, batch, longPoll, fifo, list, purge, errors]) report[step.name] = await step();
console.log(JSON.stringify(report));
client.destroy();
