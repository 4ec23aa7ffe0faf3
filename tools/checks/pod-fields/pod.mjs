// Verdicts on the fields of a PodSpec, except containers, volumes and security contexts.
import { files as t } from './tests.mjs';
import { others, partly, works } from './verdicts.mjs';

const scheduler = 'the scheduler';
const OWN_CLAIM =
  'a pod with a claim from a template gets its device and shows its health, and the claim is unprepared when the pod ends';
const affinityOfPods = 'the scheduler: a node does not check where other pods run';

export const pod = {
  PodSpec: [
    works('activeDeadlineSeconds', [
      t.syncer,
      'fails a pod past its activeDeadlineSeconds once, and does not sync it any more',
    ]),
    works('affinity', [t.affinity, 'two terms, one of which matches']),
    others('automountServiceAccountToken', 'the API server, which adds the token volume'),
    works('containers', [t.podRuntime, 'a new pod gets its sandbox, its containers, and the usual events']),
    works('dnsConfig dnsPolicy', [t.dns, "podDns adds the pod's own settings without duplicates, options by name"]),
    works(
      'enableServiceLinks',
      [t.services, 'a pod with enableServiceLinks gets the variables of all services in its namespace, with all ports'],
      [
        t.workloads,
        "a pod's environment has the variables of its sources in the specified order, and the variables of services",
      ],
    ),
    works(
      'ephemeralContainers',
      [t.actions, 'a container that was created but not started is started'],
      [t.ephemeral, 'an ephemeral container that is added to a running pod starts once and never again'],
      [
        t.debugging,
        "an ephemeral container sees its target's processes, and runs only once, even over a kubelet restart",
      ],
    ),
    works('hostAliases', [
      t.network,
      "writes the pod's names and aliases into its hosts file and mounts it read-write",
    ]),
    works(
      'hostIPC hostNetwork hostPID shareProcessNamespace',
      [t.sandbox, 'the sandbox of a pod with %j has the namespace modes %s (network), %s (PID) and %s (IPC)'],
      [t.security, "namespaces are the pod's own, shared among its containers, or the host's"],
    ),
    works(
      'hostUsers',
      [
        t.userns,
        'a pod with a user namespace has the same IDs in sandbox, containers and mounts; other pods have the node’s',
      ],
      [t.userns, 'a pod with a user namespace waits with the reason if the runtime or the kernel does not support it'],
      [
        t.security,
        'a pod with hostUsers: false has its own IDs, also in its volumes, or reports that the runtime does not support them',
      ],
    ),
    works('hostname subdomain', [t.hostname, 'hostname and subdomain']),
    works('hostnameOverride', [t.hostname, 'hostnameOverride, hostname and subdomain']),
    works('imagePullSecrets', [t.pullSecrets, "a pod pulls with its own secrets first, then with the node's logins"]),
    works(
      'initContainers',
      [t.init, 'C3: the next init container starts after the previous one has succeeded'],
      [t.init, 'C4: main containers start when the last sidecar runs'],
    ),
    works('nodeName', [t.predicates, 'the name of another node']),
    works('nodeSelector', [t.predicates, 'admits a pod that matches the labels of the refreshed node']),
    works('os', [t.predicates, 'another operating system in the spec']),
    works(
      'overhead',
      [t.sandbox, 'the sandbox config has the sum of the container resources and the overhead separately'],
      [t.amounts, 'the sum including the overhead, in limits only for resources with a limit'],
    ),
    others('preemptionPolicy', 'the scheduler: a kubelet preempts only for critical pods'),
    works(
      'priority',
      [t.facts, 'a pod with $1 is critical: $0'],
      [t.preemption, 'preempts pods for a critical pod and sets the phase of the victims to Failed with a message'],
    ),
    others('priorityClassName', 'the API server, which sets `priority` from it'),
    works('readinessGates', [t.status, 'S7: a missing or false readiness gate keeps the pod not ready']),
    works(
      'resourceClaims',
      [t.resourceClaims, 'podClaims of a pod with %s returns $3'],
      [t.claimsEndToEnd, OWN_CLAIM],
      [
        t.claimsEndToEnd,
        'K1: two pods share a claim, also over a kill -9 of the kubelet, until the last one is deleted',
      ],
    ),
    works(
      'resources',
      [t.amounts, 'the pod-level resources instead of those of the containers'],
      [t.sandbox, 'the sandbox config has the pod-level resources instead of the sum over the containers'],
    ),
    works('restartPolicy', [t.actions, 'OnFailure: a container that exited with 0 does not restart']),
    works('runtimeClassName', [
      t.runtimeClasses,
      'reads a RuntimeClass each time, because the class may have been recreated',
    ]),
    others('schedulerName schedulingGates schedulingGroup topologySpreadConstraints', scheduler),
    works('securityContext', [
      t.container,
      "the security context of the container takes precedence over the pod's, and the pod's over the image's user",
    ]),
    others('serviceAccount', 'the API server, which keeps the field equal to `serviceAccountName`'),
    works('serviceAccountName', [t.env, 'spec.serviceAccountName']),
    works('setHostnameAsFQDN', [
      t.sandbox,
      'the hostname of a sandbox is the FQDN if setHostnameAsFQDN is set and it fits into 64 characters',
    ]),
    works('terminationGracePeriodSeconds', [t.kill, "the pod's terminationGracePeriodSeconds"]),
    works('tolerations', [t.predicates, 'admits a pod that tolerates the NoExecute taint of the node']),
    works('volumes', [t.volumes, "containerMounts returns a pod's volumes only after they are ready"]),
  ],
  HostAlias: [
    works('hostnames ip', [
      t.network,
      "writes the pod's names and aliases into its hosts file and mounts it read-write",
    ]),
  ],
  LocalObjectReference: [
    works('name', [t.pullSecrets, "a pod pulls with its own secrets first, then with the node's logins"]),
  ],
  PodDNSConfig: [
    works('nameservers options searches', [
      t.dns,
      "podDns adds the pod's own settings without duplicates, options by name",
    ]),
  ],
  PodDNSConfigOption: [
    works('name value', [t.dns, "podDns adds the pod's own settings without duplicates, options by name"]),
  ],
  PodOS: [works('name', [t.predicates, 'another operating system in the spec'])],
  PodReadinessGate: [
    works('conditionType', [t.status, 'S7: a missing or false readiness gate keeps the pod not ready']),
  ],
  PodResourceClaim: [
    works(
      'name resourceClaimName resourceClaimTemplateName',
      [t.resourceClaims, 'podClaims of a pod with %s returns $3'],
      [t.claimsEndToEnd, OWN_CLAIM],
    ),
  ],
  PodSchedulingGate: [others('name', scheduler)],
  PodSchedulingGroup: [
    partly('podGroupName', 'used only for claims that belong to the group (gate DRAWorkloadResourceClaims)', [
      t.claimProblem,
      'claimProblem %s a claim of a PodGroup: $3',
    ]),
  ],
  TopologySpreadConstraint: [
    others(
      'labelSelector matchLabelKeys maxSkew minDomains nodeAffinityPolicy nodeTaintsPolicy topologyKey whenUnsatisfiable',
      scheduler,
    ),
  ],
  Toleration: [
    works('effect key operator value', [
      t.tolerations,
      'operators Lt and Gt tolerate no taint if their feature gate is off',
    ]),
    others('tolerationSeconds', 'the controller that evicts pods from tainted nodes'),
  ],
  Affinity: [
    works('nodeAffinity', [t.affinity, 'two terms, one of which matches']),
    others('podAffinity podAntiAffinity', affinityOfPods),
  ],
  NodeAffinity: [
    others(
      'preferredDuringSchedulingIgnoredDuringExecution',
      'the scheduler: a kubelet never rejects a pod because of a preferred node',
    ),
    works('requiredDuringSchedulingIgnoredDuringExecution', [t.affinity, 'two terms, one of which matches']),
  ],
  NodeSelector: [works('nodeSelectorTerms', [t.affinity, 'no terms'])],
  NodeSelectorTerm: [
    works('matchExpressions matchFields', [t.affinity, 'a term with expressions and fields, not all of which match']),
  ],
  NodeSelectorRequirement: [
    works('key operator values', [t.affinity, 'NotIn with an invalid label value: malformed, so no node matches']),
  ],
  PreferredSchedulingTerm: [others('preference weight', scheduler)],
  PodAffinity: [
    others(
      'preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution',
      affinityOfPods,
    ),
  ],
  PodAntiAffinity: [
    others(
      'preferredDuringSchedulingIgnoredDuringExecution requiredDuringSchedulingIgnoredDuringExecution',
      affinityOfPods,
    ),
  ],
  PodAffinityTerm: [
    others('labelSelector matchLabelKeys mismatchLabelKeys namespaceSelector namespaces topologyKey', affinityOfPods),
  ],
  WeightedPodAffinityTerm: [others('podAffinityTerm weight', affinityOfPods)],
  ResourceRequirements: [
    works(
      'limits requests',
      [t.resources, "the huge page limit of the container takes precedence over the pod's"],
      [t.predicates, 'more CPU than is free; the message has millicores'],
    ),
    works(
      'claims',
      [
        t.resourceClaims,
        'containerRequests returns the requests of a container by claim, with an empty request for a whole claim',
      ],
      [t.claimsEndToEnd, OWN_CLAIM],
    ),
  ],
  ContainerResourceClaim: [
    works(
      'name request',
      [
        t.resourceClaims,
        'containerRequests returns the requests of a container by claim, with an empty request for a whole claim',
      ],
      [t.claimInfo, 'the devices of the subrequest that the scheduler chose from a prioritized list'],
    ),
  ],
};
