package measure

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Tree is a process and its descendants, by id; none when it is gone.
func Tree(pid int) []int {
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	if err != nil || len(tasks) == 0 {
		return nil
	}
	all := []int{pid}
	for _, task := range tasks {
		text, _ := os.ReadFile(task) // gone meanwhile: no children
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, Tree(child)...)
			}
		}
	}
	return all
}
