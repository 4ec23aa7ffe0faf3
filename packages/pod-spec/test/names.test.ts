import { describe, expect, test } from 'vitest';
import {
  configKeyProblem,
  dns1123LabelProblem,
  dns1123SubdomainProblem,
  dnsSearchProblem,
  envNameProblem,
  httpHeaderNameProblem,
  labelValueProblem,
  type NameRule,
  portNameProblem,
  qualifiedNameProblem,
} from '../src/names.ts';

const long = (length: number): string => 'a'.repeat(length);
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const SEARCH =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const HEADER =
  "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
const ENV = "a valid environment variable name must consist only of printable ASCII characters other than '='";
const longer = (limit: number, unit = 'characters'): string => `must be no more than ${limit} ${unit}`;

type Row = readonly [value: string, problems: readonly string[]];

describe.each<[what: string, rule: NameRule, rows: readonly Row[]]>([
  [
    'a label',
    dns1123LabelProblem,
    [
      [long(63), []],
      [long(64), [longer(63)]],
      ['a-0', []],
      ['a.b', ['must not contain dots']],
      [`a.${long(64)}`, [longer(63), 'must not contain dots']],
      ['', [LABEL]],
      ['-a', [LABEL]],
      ['a-', [LABEL]],
      ['A', [LABEL]],
      [long(4096), [longer(63)]],
      [long(4097), [longer(63), LABEL]],
    ],
  ],
  [
    'a subdomain',
    dns1123SubdomainProblem,
    [
      [long(253), []],
      [long(254), [longer(253)]],
      ['a.b-c.0', []],
      ['a..b', [SUBDOMAIN]],
      ['a_b', [SUBDOMAIN]],
    ],
  ],
  [
    'a domain of a search list',
    dnsSearchProblem,
    [
      [long(253), []],
      [long(254), [longer(253)]],
      ['_srv._tcp.a_b', []],
      ['a_', [SEARCH]],
    ],
  ],
  [
    'a qualified name',
    qualifiedNameProblem,
    [
      [long(63), []],
      [long(64), [`name part ${longer(63, 'bytes')}`]],
      ['My_name.x', []],
      ['example.com/MyName', []],
      [`${long(253)}/a`, []],
      [`${long(254)}/a`, [`prefix part ${longer(253)}`]],
      ['A/a', [`prefix part ${SUBDOMAIN}`]],
      ['/a', ['prefix part must be non-empty']],
      ['a/', ['name part must be non-empty', `name part ${QUALIFIED}`]],
      ['', ['name part must be non-empty', `name part ${QUALIFIED}`]],
      ['ü'.repeat(32), [`name part ${longer(63, 'bytes')}`, `name part ${QUALIFIED}`]],
      [
        'a/b/c',
        [`a valid label key ${QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`],
      ],
    ],
  ],
  [
    'the value of a label',
    labelValueProblem,
    [
      ['', []],
      [long(63), []],
      [long(64), [longer(63, 'bytes')]],
      ['My_value.0', []],
      ['-', [LABEL_VALUE]],
    ],
  ],
  [
    'a key of a configMap',
    configKeyProblem,
    [
      [long(253), []],
      [long(254), [longer(253)]],
      ['.KEY_-1', []],
      ['a..', []],
      ['', [CONFIG_KEY]],
      ['a/b', [CONFIG_KEY]],
      ['.', ["must not be '.'"]],
      ['..', ["must not be '..'"]],
      ['..a', ["must not start with '..'"]],
      ['../a', [CONFIG_KEY, "must not start with '..'"]],
    ],
  ],
  [
    'the name of a variable',
    envNameProblem,
    [
      ['', ['environment variable name must be non-empty']],
      [' !<>~', []],
      ['=', [ENV]],
      ['a\x7f', [ENV]],
      ['\n', [ENV]],
      ['ü', [ENV]],
    ],
  ],
  [
    'the name of a port',
    portNameProblem,
    [
      ['a', []],
      ['a-1', []],
      [long(15), []],
      [long(16), [longer(15)]],
      ['1', ['must contain at least one letter (a-z)']],
      ['a--b', ['must not contain consecutive hyphens']],
      ['-a', ['must not begin or end with a hyphen']],
      ['a-', ['must not begin or end with a hyphen']],
      ['aB', ['must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)']],
      [
        '',
        [
          'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
          'must contain at least one letter (a-z)',
        ],
      ],
    ],
  ],
  [
    'the name of a header',
    httpHeaderNameProblem,
    [
      ['X-Header-0', []],
      ['-', []],
      ['', [HEADER]],
      ['X_Y', [HEADER]],
      [long(4096), []],
      [long(4097), [HEADER]],
    ],
  ],
])('validation of %s', (_what, rule, rows) => {
  test.each(rows.map(([value, problems]) => [value.slice(0, 30), value.length, value, problems] as const))(
    'the value %j of %i characters has the problems $3',
    (_shown, _length, value, problems) => {
      expect(rule(value)).toEqual(problems);
    },
  );
});
