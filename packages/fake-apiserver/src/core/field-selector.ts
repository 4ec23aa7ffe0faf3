import { badRequest } from './failure.ts';
import type { JsonObject } from './json.ts';
import type { Selector } from './label-selector.ts';

/** The selectable fields of a resource, each with a function that reads the field's value. */
export type SelectableFields = Readonly<Record<string, (object: JsonObject) => string>>;

/** A requirement of a field selector. */
export interface FieldTerm {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/**
 * Parses a field selector: `spec.nodeName=n,status.phase!=Failed`. `\,`, `\=` and `\\` are escapes.
 * @throws ApiFailure 400
 */
export function parseFieldTerms(text: string): readonly FieldTerm[] {
  const parts = text.match(/(?:\\.|[^,\\])+/g) ?? [];
  return parts.map((part) => {
    const [, field = '', operator = '', value = ''] = /^((?:\\.|[^=!\\])+)(==|=|!=)((?:\\.|[^=\\])*)$/.exec(part) ?? [];
    if (operator === '') throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
    return { field: field.trim(), equal: operator !== '!=', value: value.replaceAll(/\\(.)/g, '$1').trim() };
  });
}

/**
 * Returns a function that evaluates the requirements.
 * @throws ApiFailure 400 if a field is not selectable for the resource
 */
export function fieldSelector(terms: readonly FieldTerm[], fields: SelectableFields): Selector<JsonObject> | undefined {
  if (terms.length === 0) return undefined;
  const tests = terms.map(({ field, equal, value }) => {
    const read = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (read === undefined) throw badRequest(`field label not supported: ${field}`);
    return (object: JsonObject) => (read(object) === value) === equal;
  });
  return (object) => tests.every((test) => test(object));
}
