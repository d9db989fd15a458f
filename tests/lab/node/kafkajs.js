// Clients of kafkajs as its users write them: kafkajs ROLE [-name value ...]. What happens is printed, one JSON a line.
const { Kafka, logLevel, PartitionAssigners } = require("kafkajs");

const [, , , role, ...flags] = process.argv;
const settings = { topics: "orders", commit: "auto", to: "shipped", session: 6000, rebalance: 5000, work: 200 };
for (let at = 0; at < flags.length; at += 2) settings[flags[at].slice(1)] = flags[at + 1];
for (const name of ["session", "rebalance", "work"]) settings[name] = Number(settings[name]);

const say = (name, detail) => console.log(JSON.stringify({ timestamp: Date.now(), name, detail: String(detail) }).replaceAll('","', '","'));
const nap = (ms) => new Promise((done) => setTimeout(done, ms));
const value = (at) => `PAYLOAD-MUST-NOT-BE-READ-${at}`;
const topics = settings.topics.split(",");
const kafka = new Kafka({ clientId: settings.client, brokers: [settings.bootstrap], logLevel: logLevel.NOTHING });

let stopping = false;
const open = [];
process.on("SIGTERM", async () => {
  stopping = true;
  for (const each of open) await each.disconnect();
  say("ended", "");
  process.exit(0);
});

async function member(options, eachMessage) {
  const consumer = kafka.consumer({
    groupId: settings.group,
    sessionTimeout: settings.session,
    rebalanceTimeout: settings.rebalance,
    heartbeatInterval: settings.session / 6,
    partitionAssigners: [PartitionAssigners.roundRobin],
    ...options,
  });
  open.push(consumer);
  for (const event of ["GROUP_JOIN", "REBALANCING", "CRASH"])
    consumer.on(consumer.events[event], ({ payload }) => say(event === "GROUP_JOIN" ? "assigned" : event, JSON.stringify(payload.memberAssignment ?? {})));
  await consumer.connect();
  await consumer.subscribe({ topics, fromBeginning: true });
  await consumer.run({
    autoCommit: settings.commit === "auto",
    autoCommitInterval: 500,
    eachMessage: (given) => eachMessage(consumer, given),
  });
}

// consume commits by itself, or each record with metadata.
async function consume() {
  await member({}, async (consumer, { topic, partition, message }) => {
    await nap(settings.work);
    if (settings.commit === "auto") return;
    const offset = String(Number(message.offset) + 1);
    try {
      await consumer.commitOffsets([{ topic, partition, offset, metadata: `by ${settings.client}` }]);
    } catch (error) {
      say("refused", error);
      throw error;
    }
  });
}

async function produce() {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
  open.push(producer);
  await producer.connect();
  for (let at = 0; !stopping; at++) {
    for (const topic of topics) {
      try {
        await producer.send({ topic, messages: [{ key: String(at), value: value(at) }] });
      } catch (error) {
        say("refused", error);
      }
    }
    await nap(settings.work);
  }
}

// transfer passes each record on in a transaction that is open for settings.work; every fourth is aborted.
async function transfer() {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1, transactionalId: settings["transactional-id"], transactionTimeout: 8000 });
  open.push(producer);
  await producer.connect();
  let done = 0;
  settings.commit = "none";
  await member({ readUncommitted: false }, async (consumer, { topic, partition, message }) => {
    const transaction = await producer.transaction();
    say("begun", ++done);
    try {
      await transaction.send({ topic: settings.to, messages: [{ value: value(done) }] });
      const offsets = [{ partition, offset: String(Number(message.offset) + 1) }];
      await transaction.sendOffsets({ consumerGroupId: settings.group, topics: [{ topic, partitions: offsets }] });
      await nap(settings.work);
      await (done % 4 ? transaction.commit() : transaction.abort());
      say("over", done % 4 !== 0);
    } catch (error) {
      say("refused", error);
      await transaction.abort();
    }
  });
}

({ consume, produce, transfer })[role]().catch((error) => {
  say("failed", error);
  process.exit(1);
});
