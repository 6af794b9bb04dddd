//go:build race

package testkit

// share is 1/share of many calls that a test makes: the race detector makes each take ten times
// as long, and sees what there is to see in fewer.
const share = 10
