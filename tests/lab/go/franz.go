package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func franzOptions(s settings) []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(s.bootstrap), kgo.ClientID(s.client)}
}

func franzMember(s settings) []kgo.Opt {
	tell := func(what string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, places map[string][]int32) { say(what, places) }
	}
	options := append(
		franzOptions(s),
		kgo.ConsumerGroup(s.group),
		kgo.ConsumeTopics(s.topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(s.session),
		kgo.RebalanceTimeout(s.rebalance),
		kgo.HeartbeatInterval(s.session/6),
		kgo.OnPartitionsAssigned(tell("assigned")),
		kgo.OnPartitionsRevoked(tell("revoked")),
		kgo.OnPartitionsLost(tell("lost")),
	)
	if s.instance != "" {
		options = append(options, kgo.InstanceID(s.instance))
	}
	switch s.assignor {
	case "server":
		options = append(options, kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer())
	case "cooperative-sticky":
		options = append(options, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	case "sticky":
		options = append(options, kgo.Balancers(kgo.StickyBalancer()))
	case "roundrobin":
		options = append(options, kgo.Balancers(kgo.RoundRobinBalancer()))
	default:
		options = append(options, kgo.Balancers(kgo.RangeBalancer()))
	}
	return options
}

// franzConsume commits by itself, or each record in its time, or late: everything it ever read, lost or not.
func franzConsume(ctx context.Context, s settings) error {
	options := franzMember(s)
	if s.commit == "auto" {
		options = append(options, kgo.AutoCommitInterval(500*time.Millisecond))
	} else {
		options = append(options, kgo.DisableAutoCommit())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	everything := map[string]map[int32]*kgo.Record{}
	for ctx.Err() == nil {
		for _, record := range client.PollRecords(ctx, 1).Records() {
			nap(ctx, s.work)
			if everything[record.Topic] == nil {
				everything[record.Topic] = map[int32]*kgo.Record{}
			}
			everything[record.Topic][record.Partition] = record
			chosen := []*kgo.Record{record}
			if s.commit == "auto" {
				continue
			}
			if s.commit == "late" {
				for _, partitions := range everything {
					for _, each := range partitions {
						chosen = append(chosen, each)
					}
				}
			}
			if err := client.CommitRecords(context.Background(), chosen...); err != nil {
				say("refused", err)
			}
		}
	}
	return nil
}

func franzProduce(ctx context.Context, s settings) error {
	client, err := kgo.NewClient(franzOptions(s)...)
	if err != nil {
		return err
	}
	defer client.Close()
	for at := 0; ctx.Err() == nil; at++ {
		for _, topic := range s.topics {
			record := &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "%d", at), Value: fmt.Appendf(nil, value, at)}
			if err := client.ProduceSync(context.Background(), record).FirstErr(); err != nil {
				say("refused", err)
			}
		}
		nap(ctx, s.work)
	}
	return nil
}

// franzTransfer passes each record on in a transaction that is open for s.work; every fourth is aborted.
func franzTransfer(ctx context.Context, s settings) error {
	session, err := kgo.NewGroupTransactSession(append(
		franzMember(s),
		kgo.TransactionalID(s.transactionalID),
		kgo.TransactionTimeout(8*time.Second),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	)...)
	if err != nil {
		return err
	}
	defer session.Close()
	for done := 1; ctx.Err() == nil; {
		records := session.PollRecords(ctx, 1).Records()
		if len(records) == 0 {
			continue
		}
		if err := session.Begin(); err != nil {
			return err
		}
		say("begun", done)
		record := &kgo.Record{Topic: s.to, Value: fmt.Appendf(nil, value, done)}
		if err := session.ProduceSync(context.Background(), record).FirstErr(); err != nil {
			say("refused", err)
		}
		nap(ctx, s.work)
		committed, err := session.End(context.Background(), kgo.TransactionEndTry(done%4 != 0))
		if err != nil {
			return err
		}
		say("over", committed)
		done++
	}
	return nil
}
