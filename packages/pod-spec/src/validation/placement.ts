import { isIP } from 'node:net';
import type { PodSpec, Toleration } from '../api.ts';
import { fieldError, forbidden, invalid, required, unsupported } from '../field-error.ts';
import {
  dns1123LabelProblem,
  dns1123SubdomainProblem,
  dnsSearchProblem,
  labelValueProblem,
  qualifiedNameProblem,
} from '../names.ts';
import { validateLabels } from './metadata.ts';
import { named, oneOf, type Problems, requiredOneOf } from './rules.ts';

const MAX_NAMESERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARACTERS = 2048;
const MAX_HOST_NAME_LENGTH = 64;

/** Validates the fields for a pod's node, host name and DNS. */
export function* validatePlacement(spec: PodSpec, path: string): Problems {
  yield* validateDns(spec, path);
  yield* validateHostName(spec, path);
  const subdomains = ['nodeName', 'serviceAccountName', 'priorityClassName', 'runtimeClassName'] as const;
  for (const field of subdomains)
    if (spec[field]) yield* named(`${path}.${field}`, spec[field], dns1123SubdomainProblem);
  yield* validateLabels(spec.nodeSelector ?? {}, `${path}.nodeSelector`);
  yield* oneOf(`${path}.preemptionPolicy`, spec.preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  for (const [index, gate] of (spec.readinessGates ?? []).entries()) {
    yield* named(`${path}.readinessGates[${index}].conditionType`, gate.conditionType ?? '', qualifiedNameProblem);
  }
  if (spec.nodeName && (spec.schedulingGates ?? []).length > 0) {
    yield forbidden(`${path}.nodeName`, 'cannot be set until all schedulingGates have been cleared');
  }
  for (const [index, toleration] of (spec.tolerations ?? []).entries()) {
    yield* validateToleration(toleration, `${path}.tolerations[${index}]`);
  }
  for (const [index, alias] of (spec.hostAliases ?? []).entries()) {
    const at = `${path}.hostAliases[${index}]`;
    yield* validateIp(alias.ip ?? '', `${at}.ip`);
    for (const [nameIndex, name] of (alias.hostnames ?? []).entries()) {
      yield* named(`${at}.hostnames[${nameIndex}]`, name, dns1123SubdomainProblem);
    }
  }
}

function* validateHostName(spec: PodSpec, path: string): Problems {
  if (spec.hostname) yield* named(`${path}.hostname`, spec.hostname, dns1123LabelProblem);
  if (spec.subdomain) yield* named(`${path}.subdomain`, spec.subdomain, dns1123LabelProblem);
  const name = spec.hostnameOverride;
  if (name === undefined) return;
  const at = `${path}.hostnameOverride`;
  if (spec.setHostnameAsFQDN) yield forbidden(at, 'may not be specified when setHostnameAsFQDN is true');
  if (spec.hostNetwork) yield forbidden(at, 'may not be specified when hostNetwork is true');
  if (name.length > MAX_HOST_NAME_LENGTH) {
    yield fieldError('Too long', at, `may not be more than ${MAX_HOST_NAME_LENGTH} bytes`);
  }
  yield* named(at, name, dns1123SubdomainProblem);
}

function* validateDns(spec: PodSpec, path: string): Problems {
  const policies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'];
  yield* requiredOneOf(`${path}.dnsPolicy`, spec.dnsPolicy, policies);
  const at = `${path}.dnsConfig`;
  const { dnsConfig } = spec;
  if (!dnsConfig) {
    if (spec.dnsPolicy === 'None') yield required(at, 'must provide `dnsConfig` when `dnsPolicy` is None');
    return;
  }
  const { nameservers = [], options = [], searches = [] } = dnsConfig;
  if (spec.dnsPolicy === 'None' && nameservers.length === 0) {
    yield required(`${at}.nameservers`, 'must provide at least one DNS nameserver when `dnsPolicy` is None');
  }
  if (nameservers.length > MAX_NAMESERVERS) {
    yield invalid(`${at}.nameservers`, nameservers, `must not have more than ${MAX_NAMESERVERS} nameservers`);
  }
  for (const [index, server] of nameservers.entries()) yield* validateIp(server, `${at}.nameservers[${index}]`);
  if (searches.length > MAX_SEARCHES) {
    yield invalid(`${at}.searches`, searches, `must not have more than ${MAX_SEARCHES} search paths`);
  }
  if (searches.join(' ').length > MAX_SEARCH_CHARACTERS) {
    const detail = `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`;
    yield invalid(`${at}.searches`, searches, detail);
  }
  for (const [index, search] of searches.entries()) {
    // The root domain `.` and underscores are allowed since 1.34.
    if (search !== '.') yield* named(`${at}.searches[${index}]`, search.replace(/\.$/, ''), dnsSearchProblem);
  }
  for (const [index, option] of options.entries()) {
    if (!option.name) yield required(`${at}.options[${index}]`, 'must not be empty');
  }
}

function* validateIp(text: string, path: string): Problems {
  if (isIP(text) === 0) yield invalid(path, text, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)');
}

function* validateToleration(toleration: Toleration, path: string): Problems {
  const { effect, key, operator, tolerationSeconds, value } = toleration;
  if (key) yield* named(`${path}.key`, key, qualifiedNameProblem);
  else if (operator !== 'Exists') {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    yield invalid(`${path}.operator`, operator ?? '', detail);
  }
  if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
    yield invalid(`${path}.effect`, effect ?? '', "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  if (operator === 'Exists') {
    if (value) yield invalid(`${path}.operator`, value, "value must be empty when `operator` is 'Exists'");
  } else if (!operator || operator === 'Equal') yield* named(`${path}.operator`, value ?? '', labelValueProblem);
  else yield unsupported(`${path}.operator`, operator, ['Equal', 'Exists']);
  yield* oneOf(`${path}.effect`, effect || undefined, ['NoSchedule', 'PreferNoSchedule', 'NoExecute']);
}
