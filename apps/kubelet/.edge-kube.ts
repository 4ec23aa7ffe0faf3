import { KubeClients, loadKubeconfig } from '@node-agent/kube-client';
console.log(typeof KubeClients, typeof loadKubeconfig);
import * as host from '@node-agent/config'; console.log(Object.keys(host).length);
import * as tel from '@node-agent/telemetry'; const l = await tel.createLogger({ format: 'json' }); l.info({}, 'hello');
process.exit(0);
