package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

func saramaConfig(s settings) *sarama.Config {
	config := sarama.NewConfig()
	config.ClientID = s.client
	config.Version = sarama.MaxVersion
	config.Producer.Return.Successes = true
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Net.MaxOpenRequests = 1
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = s.commit == "auto"
	config.Consumer.Offsets.AutoCommit.Interval = 500 * time.Millisecond
	config.Consumer.Group.Session.Timeout = s.session
	config.Consumer.Group.Heartbeat.Interval = s.session / 6
	config.Consumer.Group.Rebalance.Timeout = s.rebalance
	config.Consumer.Group.InstanceId = s.instance
	switch s.assignor {
	case "cooperative-sticky":
		config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyCooperativeSticky()}
	case "sticky":
		config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategySticky()}
	case "roundrobin":
		config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRoundRobin()}
	}
	return config
}

// member handles the records of a session; what it does with one is its work.
type member struct {
	work func(sarama.ConsumerGroupSession, *sarama.ConsumerMessage) error
	done func(sarama.ConsumerGroupSession)
}

func (member) Setup(session sarama.ConsumerGroupSession) error {
	say("assigned", session.Claims())
	return nil
}

func (m member) Cleanup(session sarama.ConsumerGroupSession) error {
	say("revoked", session.Claims())
	m.done(session)
	return nil
}

func (m member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			if err := m.work(session, message); err != nil {
				return err
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func saramaGroup(ctx context.Context, s settings, config *sarama.Config, m member) error {
	group, err := sarama.NewConsumerGroup([]string{s.bootstrap}, s.group, config)
	if err != nil {
		return err
	}
	defer group.Close()
	for ctx.Err() == nil {
		if err := group.Consume(ctx, s.topics, m); err != nil {
			say("refused", err)
			if errors.Is(err, sarama.ErrClosedConsumerGroup) {
				return err
			}
			nap(ctx, time.Second)
		}
	}
	return nil
}

// saramaConsume marks each record; a record that takes longer than a rebalance outlasts the session ("late").
func saramaConsume(ctx context.Context, s settings) error {
	work := func(session sarama.ConsumerGroupSession, message *sarama.ConsumerMessage) error {
		if s.commit == "late" {
			time.Sleep(s.work)
		} else {
			nap(session.Context(), s.work)
		}
		session.MarkMessage(message, "by "+s.client)
		if s.commit != "auto" {
			session.Commit()
		}
		return nil
	}
	done := func(session sarama.ConsumerGroupSession) {
		if s.commit != "auto" {
			session.Commit()
		}
	}
	return saramaGroup(ctx, s, saramaConfig(s), member{work, done})
}

func saramaProduce(ctx context.Context, s settings) error {
	producer, err := sarama.NewSyncProducer([]string{s.bootstrap}, saramaConfig(s))
	if err != nil {
		return err
	}
	defer producer.Close()
	for at := 0; ctx.Err() == nil; at++ {
		for _, topic := range s.topics {
			key, text := sarama.StringEncoder(fmt.Sprint(at)), sarama.StringEncoder(fmt.Sprintf(value, at))
			if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Key: key, Value: text}); err != nil {
				say("refused", err)
			}
		}
		nap(ctx, s.work)
	}
	return nil
}

// saramaTransfer passes each record on in a transaction that is open for s.work; every fourth is aborted.
func saramaTransfer(ctx context.Context, s settings) error {
	config := saramaConfig(s)
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	of := saramaConfig(s)
	of.Producer.Transaction.ID = s.transactionalID
	of.Producer.Transaction.Timeout = 8 * time.Second
	producer, err := sarama.NewSyncProducer([]string{s.bootstrap}, of)
	if err != nil {
		return err
	}
	defer producer.Close()
	done := 1
	lock := make(chan struct{}, 1)
	work := func(session sarama.ConsumerGroupSession, message *sarama.ConsumerMessage) error {
		lock <- struct{}{}
		defer func() { <-lock }()
		if err := producer.BeginTxn(); err != nil {
			return err
		}
		say("begun", done)
		text := sarama.StringEncoder(fmt.Sprintf(value, done))
		if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: s.to, Value: text}); err != nil {
			say("refused", err)
			return producer.AbortTxn()
		}
		who := &sarama.ConsumerGroupMetadata{
			GroupID: s.group, GenerationID: session.GenerationID(), MemberID: session.MemberID(),
		}
		if err := producer.AddMessageToTxnWithGroupMetadata(message, who, nil); err != nil {
			say("refused", err)
			return producer.AbortTxn()
		}
		nap(session.Context(), s.work)
		done++
		if done%4 == 0 {
			return producer.AbortTxn()
		}
		if err := producer.CommitTxn(); err != nil {
			say("refused", err)
			return producer.AbortTxn()
		}
		say("over", true)
		return nil
	}
	return saramaGroup(ctx, s, config, member{work, func(sarama.ConsumerGroupSession) {}})
}
