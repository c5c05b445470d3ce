package agentkernel

import (
	"context"
	"sync/atomic"
	"time"
)

// deadline ends a request when its time is over, or when the caller says so.
type deadline struct {
	ctx    context.Context
	outer  context.Context
	after  time.Duration
	timer  *time.Timer
	isLate atomic.Bool
	cancel context.CancelFunc
}

func newDeadline(outer context.Context, after time.Duration) *deadline {
	ctx, cancel := context.WithCancel(outer)
	limit := &deadline{ctx: ctx, outer: outer, after: after, cancel: cancel}
	limit.timer = time.AfterFunc(after, func() {
		limit.isLate.Store(true)
		cancel()
	})
	return limit
}

// restart: something came; the time counts from now.
func (d *deadline) restart() { d.timer.Reset(d.after) }

func (d *deadline) end() {
	d.timer.Stop()
	d.cancel()
}

// explain tells why a request failed: its time, the caller, or the connection.
func (d *deadline) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case d.outer.Err() != nil:
		return d.outer.Err()
	case d.isLate.Load():
		return &TimeoutError{d.after}
	}
	return &TransportError{Err: err, Unsent: isUnsent(err)}
}
