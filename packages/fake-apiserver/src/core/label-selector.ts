import { labelValueProblem, qualifiedNameProblem } from '@node-agent/pod-spec';
import { badRequest } from './failure.ts';
import { type JsonObject, ownField } from './json.ts';

/** Returns whether an object's labels, or the object's fields, match a selector. */
export type Selector<T> = (of: T) => boolean;

const REQUIREMENT =
  /^(?:!\s*(?<absent>[^\s=!,()<>]+)|(?<key>[^\s=!,()<>]+)(?:\s*(?<operator>==|=|!=|>|<)\s*(?<value>[^\s=!,()<>]*)|\s+(?<set>in|notin)\s*\((?<values>[^()]*)\))?)$/;

/**
 * Parses a label selector: `a=b,c!=d,e in (f,g),h,!i,j>1`. Returns `undefined` for an empty selector.
 * @throws ApiFailure 400 if the selector is malformed
 */
export function parseLabelSelector(text: string): Selector<JsonObject> | undefined {
  const parts = split(text);
  if (parts.length === 0) return undefined;
  const requirements = parts.map((part) => parseRequirement(part, text));
  return (labels) => requirements.every((requirement) => requirement(labels));
}

/** Splits at the commas that are outside of parentheses. */
function split(text: string): string[] {
  if (text.trim() === '') return [];
  return text.split(/,(?![^(]*\))/).map((part) => part.trim());
}

function parseRequirement(part: string, text: string): Selector<JsonObject> {
  const { absent, key = '', operator, value = '', set, values = '' } = REQUIREMENT.exec(part)?.groups ?? {};
  const name = absent ?? key;
  if (name === '') throw unparsable(text, `found '${part}', expected: a requirement`);
  const [problem] = qualifiedNameProblem(name);
  if (problem !== undefined) throw unparsable(text, `key: Invalid value: ${JSON.stringify(name)}: ${problem}`);
  const label = (labels: JsonObject): unknown => ownField(labels, name);
  if (absent !== undefined) return (labels) => label(labels) === undefined;
  if (set !== undefined) {
    const wanted = new Set(values.split(',').map((one) => checked(one.trim(), text)));
    if (set === 'in') return (labels) => wanted.has(String(label(labels))) && label(labels) !== undefined;
    return (labels) => label(labels) === undefined || !wanted.has(String(label(labels)));
  }
  if (operator === undefined) return (labels) => label(labels) !== undefined;
  if (operator === '>' || operator === '<') {
    const limit = Number(value);
    if (!/^-?\d+$/.test(value)) throw unparsable(text, `for 'Gt', 'Lt' operators, the value must be an integer`);
    return (labels) => {
      const found = label(labels);
      if (typeof found !== 'string' || !/^-?\d+$/.test(found)) return false;
      return operator === '>' ? Number(found) > limit : Number(found) < limit;
    };
  }
  checked(value, text);
  return operator === '!=' ? (labels) => label(labels) !== value : (labels) => label(labels) === value;
}

function checked(value: string, text: string): string {
  const [problem] = labelValueProblem(value);
  if (problem !== undefined) throw unparsable(text, `values: Invalid value: ${JSON.stringify(value)}: ${problem}`);
  return value;
}

function unparsable(text: string, why: string): Error {
  return badRequest(`unable to parse requirement: ${why} in label selector ${JSON.stringify(text)}`);
}
