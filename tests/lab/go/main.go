// Clients of Go's makers, each as its users write one: MAKER ROLE [-flags]. What happens is printed, one JSON a line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const value = "PAYLOAD-MUST-NOT-BE-READ-%d"

// settings are what a client is told on its command line.
type settings struct {
	bootstrap, client, group, instance, transactionalID, assignor, commit, to string
	topics                                                                    []string
	session, rebalance, work                                                  time.Duration
}

// role is a client that goes on until its context is over.
type role func(context.Context, settings) error

var makers = map[string]map[string]role{
	"franz":     {"consume": franzConsume, "produce": franzProduce, "transfer": franzTransfer},
	"sarama":    {"consume": saramaConsume, "produce": saramaProduce, "transfer": saramaTransfer},
	"segmentio": {"consume": segmentioConsume, "produce": segmentioProduce},
}

func read(arguments []string) settings {
	var s settings
	flags := flag.NewFlagSet("makers", flag.ExitOnError)
	flags.StringVar(&s.bootstrap, "bootstrap", "", "host:port")
	flags.StringVar(&s.client, "client", "", "client id")
	flags.StringVar(&s.group, "group", "", "group id")
	flags.StringVar(&s.instance, "instance", "", "group instance id of a static member")
	flags.StringVar(&s.transactionalID, "transactional-id", "", "of who transfers")
	flags.StringVar(&s.assignor, "assignor", "range", "range, roundrobin, sticky, cooperative-sticky, server")
	flags.StringVar(&s.commit, "commit", "auto", "auto, manual, late (also what was read of partitions it lost)")
	flags.StringVar(&s.to, "to", "shipped", "topic that a transfer writes")
	session := flags.Int("session", 6000, "session timeout in ms")
	rebalance := flags.Int("rebalance", 5000, "rebalance timeout in ms")
	work := flags.Int("work", 200, "ms that a record takes")
	topics := flags.String("topics", "orders", "separated by commas")
	_ = flags.Parse(arguments)
	s.topics = strings.Split(*topics, ",")
	s.session, s.rebalance, s.work = milliseconds(*session), milliseconds(*rebalance), milliseconds(*work)
	return s
}

func milliseconds(count int) time.Duration { return time.Duration(count) * time.Millisecond }

func say(name string, detail any) {
	line, _ := json.Marshal(map[string]any{
		"timestamp": time.Now().UnixMilli(), "name": name, "detail": fmt.Sprint(detail),
	})
	fmt.Println(string(line))
}

// nap waits, but not longer than the context lasts.
func nap(ctx context.Context, duration time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(duration):
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	run, known := makers[os.Args[1]][os.Args[2]]
	if !known {
		say("unknown", os.Args[1:3])
		os.Exit(2)
	}
	if err := run(ctx, read(os.Args[3:])); err != nil {
		say("failed", err)
		os.Exit(1)
	}
	say("ended", "")
}
