module mainspring.dev/lab/go

go 1.19
