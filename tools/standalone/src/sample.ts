/** Manifest that is written if the user has no manifests. */
export interface SampleManifest {
  readonly fileName: string;
  readonly text: string;
}

/** Image of the sample's containers. */
export interface SampleImage {
  readonly name: string;
  /** `Never` if the image is imported and not available from a registry. */
  readonly pullPolicy: 'Never' | 'IfNotPresent';
}

/**
 * Returns the sample manifests: a pod that runs and logs, a pod whose container fails half a minute after each start,
 * and a pod whose init container writes a file that two containers share in an emptyDir. The fake runtime's shell also
 * understands the commands of these containers.
 */
export function sampleManifests(image: SampleImage): readonly SampleManifest[] {
  const container = `image: ${image.name}\n    imagePullPolicy: ${image.pullPolicy}`;
  return [
    {
      fileName: 'clock.yaml',
      text: `# Prints a counter every five seconds.
apiVersion: v1
kind: Pod
metadata:
  name: clock
spec:
  dnsPolicy: Default
  terminationGracePeriodSeconds: 5
  containers:
  - name: clock
    ${container}
    command: [sh, -c]
    args:
    - |
      trap 'echo stopping; exit 0' TERM
      n=0
      while true; do
        n=$((n + 1))
        echo "tick $n"
        sleep 5 & wait $!
      done
`,
    },
    {
      fileName: 'crasher.yaml',
      text: `# Fails half a minute after its start: the kubelet starts it again, later each time.
apiVersion: v1
kind: Pod
metadata:
  name: crasher
spec:
  dnsPolicy: Default
  terminationGracePeriodSeconds: 1
  containers:
  - name: crasher
    ${container}
    command: [sh, -c, 'echo begins; sleep 30; echo "out of ideas"; exit 3']
`,
    },
    {
      fileName: 'shared.yaml',
      text: `# An init container writes into a volume; two containers, started after it, read and write there.
apiVersion: v1
kind: Pod
metadata:
  name: shared
  labels:
    app: shared
spec:
  dnsPolicy: Default
  terminationGracePeriodSeconds: 1
  volumes:
  - name: data
    emptyDir: {}
  initContainers:
  - name: prepare
    ${container}
    command: [sh, -c, 'echo prepared > /data/state; sleep 1']
    volumeMounts:
    - {name: data, mountPath: /data}
  containers:
  - name: reader
    ${container}
    command: [sh, -c, 'while true; do cat /data/state; sleep 10; done']
    volumeMounts:
    - {name: data, mountPath: /data, readOnly: true}
  - name: writer
    ${container}
    command: [sh, -c, 'n=0; while true; do n=$((n + 1)); echo "written $n times" > /data/state; sleep 10; done']
    volumeMounts:
    - {name: data, mountPath: /data}
`,
    },
  ];
}
