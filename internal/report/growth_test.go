package report

import (
	"fmt"
	"io"
	"math"
	"syscall"
	"testing"
	"time"

	"rpclab/internal/analysis"
	"rpclab/internal/result"
)

// manyArms is a run of n arms in one cell.
func manyArms(n int) result.Document {
	all := sampleArms()[:6]
	var arms []sampleArm
	for i := range n {
		arm := all[i%len(all)]
		arm.name, arm.label = fmt.Sprintf("arm-%d", i), ""
		arms = append(arms, arm)
	}
	arms[0].name = "shared"
	d := small(2, arms...)
	for _, arm := range arms[1:] {
		d.Verdicts = append(d.Verdicts, verdict("latency_p50", arm.name, result.Cell{}, 1.385, 1.31, 1.46, "worse", "baseline"),
			verdict("latency_p99", arm.name, result.Cell{}, 0.997, 0.90, 1.12, "undecided", "baseline"), secondaryVerdict("client_cpu", arm.name, result.Cell{}, 15.9, "worse"))
	}
	return d
}

// manyCells is a run of 4 arms in n/4 cells.
func manyCells(n int) result.Document {
	d := base("channels", "Which one?")
	for i := range n / 4 {
		cell := result.Cell{"load.burst": i}
		for _, arm := range sampleArms()[1:5] {
			d.Arms = append(d.Arms, arm.arm(cell, 1000, 2))
			if arm.name != "shared" {
				d.Verdicts = append(d.Verdicts, verdict("latency_p50", arm.name, cell, 1.385, 1.31, 1.46, "worse", "baseline"), secondaryVerdict("client_cpu", arm.name, cell, 15.9, "worse"))
			}
		}
	}
	return d
}

// manyEvents is a run of n arms with an event in each.
func manyEvents(n int) result.Document {
	d := manyArms(n)
	for i, arm := range d.Arms {
		took := float64(i)
		d.Events = append(d.Events, result.Event{Arm: arm.Name, Cell: arm.Cell, Round: 1, AtMS: 1000, Action: result.ActionKill, What: "kill 1",
			Took: result.Took{FirstCall: &took, Recovered: &took}})
	}
	return d
}

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// TestReportsGrowLinearly allows eight times the arms 24 times the CPU time. Quadratic code takes 64 times.
func TestReportsGrowLinearly(t *testing.T) {
	const factor, most = 8, 3 * 8
	arms := 250
	if testing.Short() {
		arms = 60
	}
	compared := func(d result.Document) result.Comparison { return analysis.Compare(d, d, analysis.CompareOptions{}) }
	for format, write := range map[string]func(result.Document) error{
		"summary":        func(d result.Document) error { return Terminal(io.Discard, d, Options{}) },
		"full report":    func(d result.Document) error { return Terminal(io.Discard, d, Options{Full: true}) },
		"Markdown":       func(d result.Document) error { return Markdown(io.Discard, d) },
		"JUnit":          func(d result.Document) error { return JUnit(io.Discard, d) },
		"HTML sections":  func(d result.Document) error { SectionsOf(d); Effects(d); return nil },
		"JSON":           func(d result.Document) error { return result.Write(io.Discard, d) },
		"assembly":       func(d result.Document) error { analysis.Assemble(d); return nil },
		"comparison":     func(d result.Document) error { return Compare(io.Discard, compared(d), Options{}) },
		"JUnit of gates": func(d result.Document) error { return CompareJUnit(io.Discard, compared(d), false) },
		"merged runs": func(d result.Document) error {
			_, err := analysis.MergeRuns([]result.Document{d, d})
			return err
		},
	} {
		for shape, document := range map[string]func(int) result.Document{"arms": manyArms, "cells": manyCells, "events": manyEvents} {
			t.Run(format+" of "+shape, func(t *testing.T) {
				arms := arms
				if format == "assembly" { // among fewer arms, other costs hide those that grow with the square
					arms *= 4
				}
				few, many := document(arms), document(factor*arms)
				cost := func(d result.Document) time.Duration {
					before := cpuTime()
					if err := write(d); err != nil {
						t.Fatal(err)
					}
					return max(cpuTime()-before, time.Millisecond)
				}
				little, much := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
				for range 3 { // in some tries, earlier garbage is collected
					little, much = min(little, cost(few)), min(much, cost(many))
					if much <= most*little {
						return
					}
				}
				t.Errorf("%d arms take %v of CPU time and %d arms %v, want at most %d times as much", arms, little, factor*arms, much, most)
			})
		}
	}
}
