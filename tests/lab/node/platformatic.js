// Clients of @platformatic/kafka as its users write them: platformatic ROLE [-name value ...]. What happens is printed, one JSON a line.
const { Consumer, Producer, stringDeserializers, stringSerializers } = require("@platformatic/kafka");

const [, , , role, ...flags] = process.argv;
const settings = { topics: "orders", commit: "auto", to: "shipped", assignor: "roundrobin", session: 6000, work: 200 };
for (let at = 0; at < flags.length; at += 2) settings[flags[at].slice(1)] = flags[at + 1];
for (const name of ["session", "work"]) settings[name] = Number(settings[name]);

const say = (name, detail) => console.log(JSON.stringify({ timestamp: Date.now(), name, detail: String(detail) }).replaceAll('","', '", "'));
const nap = (ms) => new Promise((done) => setTimeout(done, ms));
const value = (at) => `PAYLOAD-MUST-NOT-BE-READ-${at}`;
const topics = settings.topics.split(",");
const client = { clientId: settings.client, bootstrapBrokers: [settings.bootstrap], retries: 20, retryDelay: 300 };

let stopping = false;
const open = new Set();
process.on("SIGTERM", async () => {
  stopping = true;
  for (const each of open) await each.close(true).catch((error) => say("refused", error.message));
  say("ended", "");
  process.exit(0);
});
// what it leaves unhandled of its own requests is no end of an application
process.on("unhandledRejection", (error) => say("refused", error.message));

// With the assignor "server" a member of a group of KIP-848, else of a classic one.
async function member(options = {}) {
  const protocol =
    settings.assignor === "server"
      ? { groupProtocol: "consumer", rebalanceTimeout: 60_000 }
      : { sessionTimeout: settings.session, rebalanceTimeout: settings.session, heartbeatInterval: settings.session / 6 };
  const consumer = new Consumer({ ...client, groupId: settings.group, deserializers: stringDeserializers, ...protocol });
  open.add(consumer);
  consumer.on("consumer:group:join", ({ generationId, assignments }) => say("assigned", JSON.stringify([generationId, assignments])));
  consumer.on("consumer:heartbeat:error", ({ error }) => say("refused", error.message));
  const autocommit = settings.commit === "auto" ? 500 : false;
  const messages = await consumer.consume({ topics, autocommit, mode: "committed", fallbackMode: "earliest", maxWaitTime: 500, ...options });
  return { consumer, messages };
}

// consume commits by itself, or each record; when it has failed it begins anew, as a supervisor would have it.
async function consume() {
  while (!stopping) {
    let consumer;
    try {
      const begun = await member();
      consumer = begun.consumer;
      for await (const message of begun.messages) {
        await nap(settings.work);
        if (settings.commit !== "auto") await message.commit();
      }
    } catch (error) {
      say("refused", error.message);
    }
    if (consumer) {
      open.delete(consumer);
      await consumer.close(true).catch((error) => say("refused", error.message));
    }
    await nap(1000);
  }
}

async function produce() {
  const producer = new Producer({ ...client, idempotent: settings.idempotent === "yes", serializers: stringSerializers });
  open.add(producer);
  for (let at = 0; !stopping; at++) {
    for (const topic of topics) {
      await producer.send({ messages: [{ topic, key: String(at), value: value(at) }] }).catch((error) => say("refused", error.message));
    }
    await nap(settings.work);
  }
}

// transfer passes each record on in a transaction that is open for settings.work; every fourth is aborted.
async function transfer() {
  const producer = new Producer({ ...client, retries: 4, idempotent: true, transactionalId: settings["transactional-id"], timeout: 8000, serializers: stringSerializers });
  open.add(producer);
  settings.commit = "none";
  const { consumer, messages } = await member({ isolationLevel: 1 });
  let done = 0;
  for await (const message of messages) {
    let transaction;
    try {
      transaction = await producer.beginTransaction();
      say("begun", [++done, producer.producerId, producer.producerEpoch]);
      await transaction.addConsumer(consumer);
      await transaction.send({ messages: [{ topic: settings.to, value: value(done) }] });
      await transaction.addOffset(message);
      await nap(settings.work);
      await (done % 4 ? transaction.commit() : transaction.abort());
      say("over", done % 4 !== 0);
    } catch (error) {
      say("refused", [error.message, ...(error.errors ?? []).map((each) => each.message)]);
      await transaction?.abort().catch(() => transaction.cancel());
      await nap(1000);
    }
  }
}

({ consume, produce, transfer })[role]().catch((error) => {
  say("failed", error.message);
  process.exit(1);
});
