export const HELP = `Shows and operates one node through its kubelet, with or without an API server.

Usage: nodectl COMMAND [flags]

Commands:
  pods [POD...]                the pods of the node; -o wide, -w, --check
  logs POD [-c CONTAINER]      -f, -p, --since 5m, --tail N, --timestamps
  exec POD [-c CONTAINER] [-i] [-t] -- COMMAND [ARG...]
  port-forward POD [LOCAL:]REMOTE...
  apply -f FILE                writes a manifest into the static pod directory; --dry-run, -f - reads standard input
  delete POD | -f FILE         removes the manifest of static pods; --dry-run
  explain [POD]                why a pod, or each pod of the node, is not in its wanted state
  top                          CPU, memory and disk of the node and its pods
  events [POD]                 what the kubelet reported
  images                       images of the container runtime
  node                         conditions, capacity, pressure, versions; --check

POD is a name or NAMESPACE/NAME. The name of a static pod may omit the node's name at its end.

Flags:
  -n, --namespace NAME         only this namespace; default: all
  -c, --container NAME         default: the annotation kubectl.kubernetes.io/default-container, else the first container
  -o, --output table|wide|json|yaml
  -w, --watch                  repeat until you interrupt
      --interval SECONDS       the interval of --watch; default: 2
      --check                  exit with 7 if the node is not ready or under pressure, or a pod is not ready
  -f, --follow                 logs: continue with new lines
  -p, --previous               logs: the container's previous instance
      --since DURATION         logs: only lines of this last time, such as 90s or 1h30m
      --tail N                 logs: only the last N lines
      --timestamps             logs: each line with its time
      --raw                    logs: do not escape control characters on a terminal
  -i, --stdin, -t, --tty       exec: pass standard input on; run in a terminal
      --address IP             port-forward: the local address; default: 127.0.0.1
  -f, --filename FILE          apply, delete: the manifest; - is standard input
      --dry-run                apply, delete: only say what would happen

Connection:
      --socket FILE            the kubelet's admin socket; default: /run/node-agent/admin.sock
      --server https://HOST:PORT  a kubelet's secured port, instead of the socket
      --client-certificate FILE, --client-key FILE
      --certificate-authority FILE, --tls-server-name NAME, --insecure-skip-tls-verify
      --request-timeout SECONDS  default: 30
  -h, --help
      --version

Exit codes: 0 success, 1 failure, 2 usage, 3 not found, 4 kubelet unreachable, 5 denied, 6 invalid manifest,
7 not ready (--check), 130 interrupted. exec: the command's exit code; 125 if it could not be run.
`;
