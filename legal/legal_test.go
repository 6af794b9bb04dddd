package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestThirdPartyListsLinkedModules(t *testing.T) {
	want, err := thirdParty("..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../" + page)
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); difference != "" {
		t.Errorf("run `go run ./legal`: %s is not what is linked (-want +got):\n%.2000s", page, difference)
	}
}

// npm.md has each package that the lock file gives to the charts, with its version.
func TestNpmPageListsTheLockFile(t *testing.T) {
	text, err := os.ReadFile("../web/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev              bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	listed, err := os.ReadFile("npm.md")
	if err != nil {
		t.Fatal(err)
	}
	for path, p := range lock.Packages {
		name, ok := strings.CutPrefix(path, "node_modules/")
		if row := "| " + name + " | " + p.Version + " | " + p.License + " |\n"; ok && !p.Dev && !strings.Contains(string(listed), row) {
			t.Errorf("legal/npm.md lacks the row %q", row)
		}
	}
}

func TestLicence(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"Apache License\n  Version 2.0, January 2004", "Apache-2.0"},
		{"Permission is hereby granted, free\nof charge, to any person", "MIT"},
		{"Redistribution and use in source and binary forms … Neither the name of", "BSD-3-Clause"},
		{"Redistribution and use in source and binary forms, with or without", "BSD-2-Clause"},
		{"Mozilla Public License Version 2.0", "MPL-2.0"},
		{"All rights reserved.", ""},
	} {
		if got := licence(test.text); got != test.want {
			t.Errorf("licence(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}
