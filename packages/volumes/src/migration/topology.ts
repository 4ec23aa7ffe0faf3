import type { PersistentVolumeData } from '../claims/claim-source.ts';
import type { TopologyKeys } from './in-tree-type.ts';

/** Label of the Kubernetes API for a zone. */
export const ZONE = 'topology.kubernetes.io/zone';
/** Older label for a zone. */
export const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone';
const REGION = 'topology.kubernetes.io/region';
const BETA_REGION = 'failure-domain.beta.kubernetes.io/region';
/** Separates zones in one label (`labelMultiZoneDelimiter`). */
const DELIMITER = '__';

type NodeAffinity = NonNullable<PersistentVolumeData['spec']>['nodeAffinity'];
type Terms = NonNullable<NonNullable<NodeAffinity>['required']>['nodeSelectorTerms'];

/** Returns the zones in the value of a label. */
export function zonesOf(label: string): readonly string[] {
  return label.split(DELIMITER);
}

/**
 * Returns the node affinity of a persistent volume, with the API's zone and region labels replaced by those of the CSI
 * driver. If the volume has no affinity, the affinity is derived from the volume's labels
 * (`translateTopologyFromInTreeToCSI`, `translateTopologyFromInTreevSphereToCSI`).
 */
export function csiAffinity({ metadata, spec }: PersistentVolumeData, keys: TopologyKeys): NodeAffinity {
  const { labels = {} } = metadata;
  const terms = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const isBeta =
    !hasKey(terms, ZONE) &&
    (hasKey(terms, BETA_ZONE) || (labels[ZONE] === undefined && labels[BETA_ZONE] !== undefined));
  const zone = isBeta ? BETA_ZONE : ZONE;
  const region = isBeta ? BETA_REGION : REGION;
  let translated = moved(terms, zone, keys.zone, splitZones(labels[zone], keys));
  if (keys.region !== undefined) translated = moved(translated, region, keys.region, [labels[region] ?? '']);
  else if (isBeta) translated = moved(translated, region, REGION, []);
  return translated.length === 0 ? spec?.nodeAffinity : { required: { nodeSelectorTerms: translated } };
}

/** Returns the zones in the value of a label. For a driver with a region label, the whole value counts as one zone. */
function splitZones(label: string | undefined, { region }: TopologyKeys): readonly string[] {
  if (label === undefined) return [];
  return region === undefined ? zonesOf(label) : [label];
}

/**
 * Replaces the key `from` by `to` in all terms. If no term has values for `from`, a requirement with the values
 * `otherwise` is added to all terms.
 */
function moved(terms: Terms, from: string, to: string, otherwise: readonly string[]): Terms {
  const expressions = terms.flatMap(({ matchExpressions = [] }) => matchExpressions);
  if (expressions.some(({ key, values = [] }) => key === from && values.length > 0)) {
    return terms.map(({ matchExpressions, ...others }) => ({
      ...others,
      ...(matchExpressions && {
        matchExpressions: matchExpressions.map((one) => (one.key === from ? { ...one, key: to } : one)),
      }),
    }));
  }
  const values = [...new Set(otherwise.map((value) => value.trim()))].filter((value) => value !== '').sort();
  if (values.length === 0) return terms;
  const added = { key: to, operator: 'In', values };
  const all = terms.length === 0 ? [{}] : terms;
  return all.map((term) => ({ ...term, matchExpressions: [...(term.matchExpressions ?? []), added] }));
}

function hasKey(terms: Terms, name: string): boolean {
  return terms.some(({ matchExpressions = [] }) => matchExpressions.some(({ key }) => key === name));
}
