package main

import (
	"context"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
)

// segmentioConsume commits behind its back, or each record in its time, whoever has its partition by then.
func segmentioConsume(ctx context.Context, s settings) error {
	config := kafka.ReaderConfig{
		Brokers: []string{s.bootstrap}, GroupID: s.group, GroupTopics: s.topics,
		Dialer:         &kafka.Dialer{ClientID: s.client, Timeout: 5 * time.Second},
		SessionTimeout: s.session, RebalanceTimeout: s.rebalance, HeartbeatInterval: s.session / 6,
		StartOffset: kafka.FirstOffset, MaxWait: 500 * time.Millisecond, WatchPartitionChanges: true,
	}
	if s.commit == "auto" {
		config.CommitInterval = 500 * time.Millisecond
	}
	switch s.assignor {
	case "roundrobin":
		config.GroupBalancers = []kafka.GroupBalancer{kafka.RoundRobinGroupBalancer{}}
	case "range":
		config.GroupBalancers = []kafka.GroupBalancer{kafka.RangeGroupBalancer{}}
	}
	reader := kafka.NewReader(config)
	defer reader.Close()
	for ctx.Err() == nil {
		message, err := reader.FetchMessage(ctx)
		if err != nil {
			say("refused", err)
			continue
		}
		time.Sleep(s.work)
		if err := reader.CommitMessages(context.Background(), message); err != nil {
			say("refused", err)
		}
	}
	return nil
}

// segmentioProduce writes without an id: this maker has no idempotent producer.
func segmentioProduce(ctx context.Context, s settings) error {
	transport := &kafka.Transport{ClientID: s.client}
	writer := &kafka.Writer{
		Addr: kafka.TCP(s.bootstrap), RequiredAcks: kafka.RequireAll, BatchTimeout: 10 * time.Millisecond, Transport: transport,
	}
	defer writer.Close()
	for at := 0; ctx.Err() == nil; at++ {
		for _, topic := range s.topics {
			message := kafka.Message{Topic: topic, Key: fmt.Appendf(nil, "%d", at), Value: fmt.Appendf(nil, value, at)}
			if err := writer.WriteMessages(context.Background(), message); err != nil {
				say("refused", err)
			}
		}
		nap(ctx, s.work)
	}
	return nil
}
