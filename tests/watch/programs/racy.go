// Goroutines that use locks, channels, atomics, maps and the collector as they are meant to be
// used, for os.Args[1] seconds. With "race" as the second argument two of them write one variable
// without any order instead.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type node struct {
	next  *node
	words []string
}

var (
	mutex   sync.Mutex
	counts  = map[string]int{}
	total   int64
	stopped int32
	shared  int
	keep    [64]*node
)

//go:noinline
func raceOnce(i int) { shared = i }

//go:noinline
func count(words []string) {
	mutex.Lock()
	for _, word := range words {
		counts[word]++
	}
	mutex.Unlock()
	atomic.AddInt64(&total, int64(len(words)))
}

// Garbage with pointers in it, so that the collector looks at what is being written.
func allocate(number int) {
	var list *node
	for i := 0; atomic.LoadInt32(&stopped) == 0; i++ {
		list = &node{list, strings.Fields("one two three four")}
		if i%1000 == 0 {
			mutex.Lock()
			keep[(number*16+i/1000)%64] = list
			mutex.Unlock()
			list = nil
		}
		if i%16 == 0 {
			count([]string{"one", "two"})
		}
	}
}

func safe(group *sync.WaitGroup, seconds int) {
	items := make(chan []string, 8)
	for i := 0; i < 2; i++ {
		group.Add(2)
		go func(number int) { defer group.Done(); allocate(number) }(i)
		go func() {
			defer group.Done()
			for words := range items {
				count(words)
			}
		}()
	}
	for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); {
		items <- strings.Fields("a b c")
	}
	close(items)
}

func race(group *sync.WaitGroup, seconds int) {
	for i := 0; i < 2; i++ {
		group.Add(1)
		go func(number int) {
			defer group.Done()
			for atomic.LoadInt32(&stopped) == 0 {
				raceOnce(number)
			}
		}(i)
	}
	time.Sleep(time.Duration(seconds) * time.Second)
}

func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	var group sync.WaitGroup
	if len(os.Args) > 2 {
		race(&group, seconds)
	} else {
		safe(&group, seconds)
	}
	atomic.StoreInt32(&stopped, 1)
	group.Wait()
	fmt.Println("done", len(counts))
}
