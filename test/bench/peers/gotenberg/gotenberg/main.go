package main

import (
	"github.com/gotenberg/gotenberg/v8/cmd"
	_ "github.com/gotenberg/gotenberg/v8/pkg/standard/chromium"
)

func main() {
	gotenbergcmd.Run()
}
