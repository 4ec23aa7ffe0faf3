import type { MetricFamily } from './exposition.ts';
import type { MachineFigures } from './machine-figures.ts';

const MACHINE: readonly (readonly [name: string, help: string, value: (machine: MachineFigures) => number])[] = [
  ['machine_cpu_physical_cores', 'Number of physical CPU cores.', ({ physicalCores }) => physicalCores],
  ['machine_cpu_cores', 'Number of logical CPU cores.', ({ cpus }) => cpus],
  ['machine_cpu_sockets', 'Number of CPU sockets.', ({ sockets }) => sockets],
  ['machine_memory_bytes', 'Amount of memory installed on the machine.', ({ memoryBytes }) => memoryBytes],
  ['machine_swap_bytes', 'Amount of swap memory available on the machine.', ({ swapBytes }) => swapBytes],
];

/**
 * Returns the machine metrics (`metrics/prometheus_machine.go` of cAdvisor). Metrics for mainframes and NVM are not
 * implemented.
 */
export function machineMetrics(machine: MachineFigures): readonly MetricFamily[] {
  const { machineId, systemUuid, bootId, kernelVersion, osVersion } = machine;
  const labels = { machine_id: machineId, system_uuid: systemUuid, boot_id: bootId };
  return [
    ...MACHINE.map(([name, help, value]) => ({
      ...{ name, help },
      type: 'gauge' as const,
      samples: [{ labels, value: value(machine) }],
    })),
    {
      name: 'machine_scrape_error',
      type: 'gauge',
      help: '1 if there was an error while getting machine metrics, 0 otherwise.',
      samples: [{ labels: {}, value: machine.memoryBytes === 0 || machine.cpus === 0 ? 1 : 0 }],
    },
    {
      name: 'cadvisor_version_info',
      type: 'gauge',
      help: "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.",
      samples: [
        {
          labels: {
            kernelVersion,
            osVersion,
            dockerVersion: '',
            cadvisorVersion: '',
            cadvisorRevision: '',
          },
          value: 1,
        },
      ],
    },
  ];
}
