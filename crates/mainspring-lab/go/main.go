// The workloads on Go's own timers, for mainspring-lab: one case per run, one line of JSON out.
//
//	go run . func W1 1000000 1 0        what a timer is, workload, size, threads, seed
//
// A timer is time.AfterFunc with a closure that holds its payload ("func"), or time.NewTimer, whose channel nobody reads
// ("channel"); a cancel is Stop, a reset is Reset. The clock is real, so workloads that move time by themselves (W3's
// fires, W4) are not done.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	spread    = 60_000 // ms, of W1 and W3
	fixed     = 30 * time.Second
	steps     = 2_000_000 // timed
	warmUpMax = 2_000_000
	chunk     = 1024 // pairs between two looks at the clock, W5
)

type random uint64

func newRandom(seed uint64) random {
	return random((seed+1)*0x9E3779B97F4A7C15 | 1)
}

func (r *random) below(bound uint64) uint64 {
	x := uint64(*r)
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	*r = random(x)
	high, _ := bits.Mul64(x, bound)
	return high
}

type figure struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
}

// What the timers of a run came to.
type tally struct {
	scheduled, cancelled uint64
	fired                atomic.Uint64
	payloads             atomic.Uint64
}

// Whether timers are time.NewTimer's.
var isChannel bool

func (t *tally) schedule(delay time.Duration, payload uint64) *time.Timer {
	t.scheduled++
	if isChannel {
		return time.NewTimer(delay)
	}
	return time.AfterFunc(delay, func() {
		t.payloads.Add(payload)
		t.fired.Add(1)
	})
}

func (t *tally) cancel(timer *time.Timer) {
	if timer.Stop() {
		t.cancelled++
	} else if isChannel {
		// Before Go 1.23 a timer that has fired leaves its value in the channel: it is taken back.
		<-timer.C
		t.cancelled++
	}
}

// Cancels what is left; then every timer was cancelled or has fired.
func (t *tally) check(live []*time.Timer) error {
	for _, timer := range live {
		t.cancel(timer)
	}
	// A function that was started runs on a goroutine of its own, which may not have had its turn.
	for try := 0; try < 100 && t.cancelled+t.fired.Load() != t.scheduled; try++ {
		time.Sleep(10 * time.Millisecond)
	}
	if t.cancelled+t.fired.Load() != t.scheduled {
		return fmt.Errorf("%d cancelled and %d fired are not %d scheduled", t.cancelled, t.fired.Load(), t.scheduled)
	}
	return nil
}

func randomDelay(r *random) time.Duration {
	return time.Duration(1+r.below(spread)) * time.Millisecond
}

func churn(size, seed uint64, isOldest bool) ([]figure, error) {
	r, t := newRandom(seed), &tally{}
	delay := func() time.Duration {
		if isOldest {
			return fixed
		}
		return randomDelay(&r)
	}
	live := make([]*time.Timer, size)
	for i := range live {
		live[i] = t.schedule(delay(), uint64(i))
	}
	run := func(count uint64) {
		for step := uint64(0); step < count; step++ {
			timer := t.schedule(delay(), step)
			picked := step % size
			if !isOldest {
				picked = r.below(size)
			}
			t.cancel(live[picked])
			live[picked] = timer
		}
	}
	run(warmUp(size))
	start := time.Now()
	run(steps)
	elapsed := time.Since(start)
	return []figure{{"pair_ns", float64(elapsed.Nanoseconds()) / steps}}, t.check(live)
}

func warmUp(size uint64) uint64 {
	if size < warmUpMax {
		return size
	}
	return warmUpMax
}

func reset(size, seed uint64) ([]figure, error) {
	r, t := newRandom(seed), &tally{}
	live := make([]*time.Timer, size)
	for i := range live {
		live[i] = t.schedule(fixed, uint64(i))
	}
	lost := uint64(0)
	run := func(count uint64) {
		for step := uint64(0); step < count; step++ {
			if !live[r.below(size)].Reset(fixed) {
				lost++
			}
		}
	}
	run(warmUp(size))
	start := time.Now()
	run(steps)
	elapsed := time.Since(start)
	if lost > 0 {
		return nil, fmt.Errorf("%d timers fired that had been moved", lost)
	}
	return []figure{{"reset_ns", float64(elapsed.Nanoseconds()) / steps}}, t.check(live)
}

func insert(size, seed uint64) ([]figure, error) {
	r, t := newRandom(seed), &tally{}
	live := make([]*time.Timer, size)
	start := time.Now()
	for i := range live {
		live[i] = t.schedule(randomDelay(&r), uint64(i))
	}
	elapsed := time.Since(start)
	return []figure{{"insert_ns", float64(elapsed.Nanoseconds()) / float64(size)}}, t.check(live)
}

func threads(size, seed uint64, count int) ([]figure, error) {
	tallies := make([]tally, count)
	lives := make([][]*time.Timer, count)
	var places [64]struct {
		sync.Mutex
		timer *time.Timer
	}
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	var start time.Time
	var pairs atomic.Uint64
	for number := 0; number < count; number++ {
		ready.Add(1)
		done.Add(1)
		go func(number int) {
			defer done.Done()
			r, t := newRandom(seed*1000+uint64(number)), &tallies[number]
			live := make([]*time.Timer, size)
			for i := range live {
				live[i] = t.schedule(randomDelay(&r), uint64(i))
			}
			lives[number] = live
			ready.Done()
			<-begin
			step := 0
			defer func() { pairs.Add(uint64(step)) }()
			for ; step%chunk != 0 || time.Since(start) < time.Second; step++ {
				timer := t.schedule(randomDelay(&r), uint64(step))
				// One in sixteen changes hands.
				if step%16 == 0 {
					place := &places[r.below(uint64(len(places)))]
					place.Lock()
					place.timer, timer = timer, place.timer
					place.Unlock()
					if timer == nil {
						continue
					}
				}
				picked := r.below(size)
				t.cancel(live[picked])
				live[picked] = timer
			}
		}(number)
	}
	ready.Wait()
	start = time.Now()
	cpu := cpuSeconds()
	close(begin)
	done.Wait()
	elapsed := time.Since(start)
	cpu = cpuSeconds() - cpu
	all := &tally{}
	for i := range tallies {
		all.scheduled += tallies[i].scheduled
		all.cancelled += tallies[i].cancelled
	}
	for i := range places {
		if places[i].timer != nil {
			all.cancel(places[i].timer)
		}
	}
	for _, live := range lives {
		for _, timer := range live {
			all.cancel(timer)
		}
	}
	time.Sleep(200 * time.Millisecond)
	for i := range tallies {
		all.fired.Add(tallies[i].fired.Load())
	}
	if err := all.check(nil); err != nil {
		return nil, err
	}
	perPair := 1e9 / float64(pairs.Load())
	return []figure{{"pairs_per_s", float64(pairs.Load()) / elapsed.Seconds()}, {"pair_cpu_ns", cpu * perPair}}, nil
}

// All timers are due at one moment.
func burst(size uint64) ([]figure, error) {
	const lead, patience = 3 * time.Second, 20 * time.Second
	t := &tally{}
	moment := time.Now().Add(lead)
	live := make([]*time.Timer, size)
	for i := range live {
		live[i] = t.schedule(time.Until(moment), uint64(i))
	}
	time.Sleep(time.Until(moment) - time.Millisecond)
	early := t.fired.Load()
	if time.Now().After(moment) {
		return nil, errors.New("scheduling took longer than 3 s")
	}
	if early > 0 {
		return nil, fmt.Errorf("%d timers fired early", early)
	}
	cpu := cpuSeconds()
	first, firstCount, count := moment, uint64(0), uint64(0)
	for count < size && time.Since(moment) < patience {
		time.Sleep(200 * time.Microsecond)
		count = t.fired.Load()
		if count > 0 && firstCount == 0 {
			first, firstCount = time.Now(), count
		}
	}
	end := time.Now()
	if count != size {
		return nil, fmt.Errorf("%d timers fired instead of %d", count, size)
	}
	cpu = cpuSeconds() - cpu
	begin := first
	if firstCount == count {
		begin, firstCount = moment, 0
	}
	runtime.KeepAlive(live)
	return []figure{
		{"fire_ns", float64(end.Sub(begin).Nanoseconds()) / float64(count-firstCount)},
		{"fire_cpu_ns", cpu * 1e9 / float64(count)},
		{"first_us", float64(first.Sub(moment).Nanoseconds()) / 1000},
	}, nil
}

var quantiles = []struct {
	at   float64
	name string
}{{0, "q0_us"}, {.1, "q10_us"}, {.25, "q25_us"}, {.5, "p50_us"}, {.75, "q75_us"}, {.9, "q90_us"}, {.99, "p99_us"},
	{.999, "p999_us"}, {.9999, "q9999_us"}, {1, "max_us"}}

func lateness(size, seed uint64) ([]figure, error) {
	runtime.GOMAXPROCS(2)
	const lead, span = 3 * time.Second, 10 * time.Second
	r := newRandom(seed)
	late := make([]int64, size)
	var fired atomic.Uint64
	base := time.Now()
	for i := range late {
		i, deadline := i, lead+time.Duration(r.below(uint64(span)))
		time.AfterFunc(time.Until(base.Add(deadline)), func() {
			late[i] = int64(time.Since(base) - deadline)
			fired.Add(1)
		})
	}
	if time.Since(base) > lead {
		return nil, errors.New("scheduling took longer than 3 s")
	}
	time.Sleep(time.Until(base.Add(lead)))
	before := cpuSeconds()
	time.Sleep(time.Until(base.Add(lead + span + 100*time.Millisecond)))
	cpu := cpuSeconds() - before
	for try := 0; try < 100 && fired.Load() < size; try++ {
		time.Sleep(100 * time.Millisecond)
	}
	if fired.Load() != size {
		return nil, fmt.Errorf("%d timers fired instead of %d", fired.Load(), size)
	}
	sort.Slice(late, func(a, b int) bool { return late[a] < late[b] })
	if late[0] < 0 {
		return nil, errors.New("a timer fired early")
	}
	var figures []figure
	for _, q := range quantiles {
		figures = append(figures, figure{q.name, float64(late[int(q.at*float64(size-1))]) / 1000})
	}
	return append(figures, figure{"cpu_s", cpu}), nil
}

func idle(size, seed uint64) ([]figure, error) {
	runtime.GOMAXPROCS(2)
	r := newRandom(seed)
	live := make([]*time.Timer, size)
	for i := range live {
		live[i] = time.AfterFunc(time.Hour+time.Duration(r.below(1000))*time.Millisecond, func() {})
	}
	// A collection that is under way is not idleness.
	runtime.GC()
	time.Sleep(time.Second)
	switches, cpu := voluntary(), cpuSeconds()
	time.Sleep(10 * time.Second)
	figures := []figure{{"switches", float64(voluntary() - switches)}, {"cpu_ms", (cpuSeconds() - cpu) * 1000}}
	runtime.KeepAlive(live)
	return figures, nil
}

func memory(size, seed uint64) ([]figure, error) {
	r, t := newRandom(seed), &tally{}
	live := make([]*time.Timer, size)
	for i := range live {
		live[i] = nil
	}
	before := resident()
	for i := range live {
		live[i] = t.schedule(randomDelay(&r), uint64(i))
	}
	fresh := resident() - before
	for step := uint64(0); step < 2*size; step++ {
		timer := t.schedule(randomDelay(&r), step)
		picked := r.below(size)
		t.cancel(live[picked])
		live[picked] = timer
	}
	churned := resident() - before
	figures := []figure{{"fresh_bytes", float64(fresh) / float64(size)}, {"churned_bytes", float64(churned) / float64(size)}}
	return figures, t.check(live)
}

// A number in kilobytes or a count, from a file of /proc.
func field(path, name string) uint64 {
	text, _ := os.ReadFile(path)
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) > 1 && fields[0] == name+":" {
			value, _ := strconv.ParseUint(fields[1], 10, 64)
			return value
		}
	}
	return 0
}

func resident() int64 { return int64(field("/proc/self/smaps_rollup", "Rss") * 1024) }

// Voluntary context switches of all threads. The one that sleeps here is none of them: it is a goroutine.
func voluntary() uint64 {
	tasks, _ := os.ReadDir("/proc/self/task")
	sum := uint64(0)
	for _, task := range tasks {
		sum += field("/proc/self/task/"+task.Name()+"/status", "voluntary_ctxt_switches")
	}
	return sum
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func measure(workload string, size, seed uint64, count int) ([]figure, error) {
	switch workload {
	case "W1":
		return churn(size, seed, false)
	case "W1b":
		return churn(size, seed, true)
	case "W2":
		return reset(size, seed)
	case "W3":
		return insert(size, seed)
	case "W5":
		return threads(size, seed, count)
	case "W6":
		return lateness(size, seed)
	case "W7":
		return idle(size, seed)
	case "W8":
		return memory(size, seed)
	case "W9":
		return burst(size)
	}
	return nil, fmt.Errorf("there is no workload %s", workload)
}

func main() {
	if len(os.Args) != 6 || os.Args[1] != "func" && os.Args[1] != "channel" {
		fmt.Fprintln(os.Stderr, "usage: go-timers func|channel WORKLOAD SIZE THREADS SEED")
		os.Exit(2)
	}
	isChannel = os.Args[1] == "channel"
	size, sizeErr := strconv.ParseUint(os.Args[3], 10, 64)
	count, countErr := strconv.Atoi(os.Args[4])
	seed, seedErr := strconv.ParseUint(os.Args[5], 10, 64)
	if sizeErr != nil || countErr != nil || seedErr != nil || size == 0 || count == 0 {
		fmt.Fprintln(os.Stderr, "sizes, threads and seeds are whole numbers, the first two not zero")
		os.Exit(2)
	}
	figures, err := measure(os.Args[2], size, seed, count)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	line, _ := json.Marshal(figures)
	fmt.Println(string(line))
}
