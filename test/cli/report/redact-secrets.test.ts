import { leastCpuMs } from '../../support/cpu-time';
import { Redactor } from '../../../src/cli/report/redact';

const redact = (text: string): string => new Redactor('standard', []).apply({ name: 'a.txt', text }).text;
const S = 's3cr3t.Va-lue';
const letters = (count: number): string => 'aB3'.repeat(count).slice(0, count);
const capitals = (count: number): string => 'Q7Z'.repeat(count).slice(0, count);

/** A text with a secret, the secret, and a text that is like it and has none. */
const SHAPES: readonly (readonly [text: string, secret: string, harmless: string])[] = [
  [`--token ${S}`, S, '--token-file /etc/cpusetd/file'],
  [`--password ${S} --name x`, S, '--password-file /etc/cpusetd/file --name x'],
  [`--pass=${S}`, S, '--passthrough=on'],
  [`pwd=${S}`, S, 'cwd=/var/lib/cpusetd'],
  [`passphrase=${S}`, S, 'a passphrase is missing'],
  [`{"token":"${S}"}`, S, '{"tokenizer":"none"}'],
  [`{\\"token\\":\\"${S}\\"}`, S, '{\\"tokenizer\\":\\"none\\"}'],
  [`"password": "two words ${S}"`, S, '"passwordless": "two words"'],
  [`password: '${S}'`, S, 'passwordPolicy: none'],
  [`dbPassword=${S}`, S, 'dbName=orders'],
  [`api_key=${S}`, S, 'api_version=v1'],
  [`apikey: ${S}`, S, 'apiVersion: v1'],
  [`X-Api-Key: ${S}`, S, 'X-Api-Version: v1'],
  [`access_key=${S}`, S, 'access_mode=ReadWriteOnce'],
  [`aws_secret_access_key = ${S}`, S, 'aws_region = eu-west-1'],
  [`client-key-data: ${letters(40)}==`, letters(40), 'client-key: /etc/kubernetes/client.key'],
  [`token=${S}`, S, 'tokenizer=words'],
  [`secret: ${S}`, S, 'secretName: db'],
  [`tokens=${S}`, S, 'tokens are missing'],
  [`passwords: [${S}]`, S, 'files: [a, b]'],
  [`passwords: [one, "${S}"]`, S, 'the passwords of [it]'],
  [`{"passwords":["one","${S}"],"x":1}`, S, '{"names":["one","two"],"x":1}'],
  [`{\\"tokens\\":[\\"one\\",\\"${S}\\"]}`, S, '{\\"names\\":[\\"one\\"]}'],
  [`passwords: [\n  one,\n  ${S}\n]`, S, 'names: [\n  one\n]'],
  [`passwords: [one, ${S}`, S, 'names: [one'],
  [`credentials: {user: me, key: ${S}}`, S, 'limits: {cpu: 2}'],
  [`secret_id: ${S}`, S, 'secretRef: db'],
  [`secretId=${S}`, S, 'secret-file=/etc/cpusetd/file'],
  [`sessionid=${S}`, S, 'sessions=3'],
  [`PHPSESSID: ${S}`, S, 'session affinity: none'],
  [`SECRET_KEY=${S}`, S, 'secret_keyring=default'],
  [`auth: ${S}`, S, 'author: somebody'],
  [`"auth":"${S}"`, S, '"auth-mode":"none"'],
  [`token: |\n  one\n\n    ${S}\n  two\n`, S, 'text: |\n  one\n  two\n'],
  [`  - token: |-  # of it\n      ${S}`, S, '  - text: |-  # of it\n      one'],
  [`token: >\r\n  one\r\n  ${S}\r`, S, 'text: >\r\n  one\r'],
  [`x: "a: 1\\n  token: |\\n    one\\n    ${S}\\n  b: 2"`, S, 'x: "text: |\\n  one\\n"'],
  [`the secret ${S} was refused`, S, 'the secret was refused'],
  [`token ${S}`, S, 'token default/db-1 not found'],
  [`Cookie: session=${S}; theme=dark`, S, 'cookies: 3'],
  [`Set-Cookie: id=${S}`, S, 'set of cookies'],
  [`Authorization: ${S}`, S, 'authorization failed'],
  [`Bearer ${S}`, S, 'the bearer of it'],
  [`basic ${letters(12)}=`, letters(12), 'basic a'],
  [`eyJhbGciOiJSUzI1NiJ9.${letters(20)}.x`, letters(20), 'eyJ is how they begin'],
  [`-----BEGIN PRIVATE KEY-----\n${letters(60)}\n-----END PRIVATE KEY-----`, letters(60), '-----BEGIN'],
  [`AKIA${capitals(16)}`, capitals(16), 'AKIAB'],
  [`ghp_${letters(36)}`, letters(36), 'ghp_short'],
  [`glpat-${letters(20)}`, letters(20), 'glpat-short'],
  [`xoxb-${letters(24)}`, letters(24), 'xoxb-short'],
  [`AIza${letters(35)}`, letters(35), 'AIzaShort'],
  [`https://user:p@${S}@host/path`, S, 'https://host/path@v1.2'],
  [`abc123.${'0a1b'.repeat(4)}`, '0a1b0a1b', 'abc123.0a1b'],
];

test.each(SHAPES)('left out: %j', (text, secret) => {
  const redacted = redact(`before ${text}\nafter`);
  expect(redacted).not.toContain(secret);
  expect(redacted).toMatch(/^before .*left-out[^]*$/);
  expect(redacted.startsWith('before ') && redacted.endsWith('after')).toBe(true);
  expect(redact(redacted)).toBe(redacted);
});

test.each(SHAPES.map(([, , harmless]) => harmless))('stays: %j', (harmless) => {
  expect(redact(`before ${harmless} after`)).toBe(`before ${harmless} after`);
});

test.each([
  ['a list below its name', '  - one\n  - two'],
  ['a list as far in as its name', '- one\n- two'],
  ['fields', '  a: one\n\n  b:\n    c: two'],
])('%s of secrets is left out as a whole, and what comes after it stays', (_what, below) => {
  const redacted = redact(`a: 1\npasswords:\n${below}\nnext: 1\n`);
  expect(redacted).toBe('a: 1\npasswords: left-out\nnext: 1\n');
  expect(redact(`a: 1\nnames:\n${below}\nnext: 1\n`)).toContain(below);
});

test.each([
  ['ip-10-1-2-3', 'pip-10-1'],
  ['10.1.2.3.nip.io', '5.14.0.427.el9_4.x86_64'],
  ['app-10-1-2-3.sslip.io', 'CPUs 0-1-2.'],
  ['02:42:ac:11:00:02', '0000:00:1f.2'],
  ['10.1.2.3', '1.2.3'],
  ['fe80::1', '10:20:30'],
])('an address in another dress: %s, and not %s', (address, harmless) => {
  expect(redact(`at ${address} now`)).toBe('at redacted-address now');
  expect(redact(`at ${harmless} now`)).toBe(`at ${harmless} now`);
  expect(new Redactor('off', []).apply({ name: 'a.txt', text: address }).text).toBe(address);
});

test('a field of JSON with the name of a secret is left out, and so are lists of them', () => {
  const data = { auth: S, tokens: [S], secret_id: S, sessionId: S, author: 'somebody' };
  const { text } = new Redactor('off', []).apply({ name: 'a.json', data });
  expect(JSON.parse(text)).toEqual({
    auth: 'left-out',
    tokens: ['left-out'],
    secret_id: 'left-out',
    sessionId: 'left-out',
    author: 'somebody',
  });
});

test('all values of annotations are left out where other texts quote them', () => {
  const redactor = new Redactor('standard', []);
  const annotations = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`a${i}`, `value number ${i}!`]));
  const part = { name: 'a.json', data: { annotations } };
  redactor.learn(part);
  redactor.apply(part);
  expect(redactor.apply({ name: 'b.txt', text: 'it is "value number 2999!", or "value number 12!"' }).text).toBe(
    'it is "left-out", or "left-out"',
  );
});

test('names within other names, and as keys, are replaced where names of pods are left out', () => {
  const redactor = new Redactor('pods', []);
  redactor.learn({ name: 'a.json', data: [{ namespace: 'payroll', pod: 'payroll/db-0', container: 'main' }] });
  const text = 'db-0.payroll.svc payroll_db-0 db-0-pvc main domain db-01 full-main-only';
  expect(redactor.apply({ name: 'b.txt', text }).text).toBe(
    'pod-1.namespace-1.svc namespace-1_pod-1 pod-1-pvc container-1 domain db-01 full-main-only',
  );
  const { text: json } = redactor.apply({ name: 'c.json', data: { 'db-0': 1, main: 2, other: 3 } });
  expect(JSON.parse(json)).toEqual({ 'pod-1': 1, main: 2, other: 3 });
});

test.each([
  'token'.repeat(40_000),
  'a'.repeat(300_000),
  '--'.repeat(100_000),
  'password "'.repeat(30_000),
  `://${'@'.repeat(200_000)}`,
  '1-'.repeat(150_000),
  'aa:'.repeat(100_000),
  '{"token":"'.repeat(20_000),
  'secret '.repeat(40_000),
  'tokens=['.repeat(30_000),
  'tokens=[\n'.repeat(30_000),
  'auth: {'.repeat(30_000),
  'token: |\n '.repeat(30_000),
  'token: |\\n '.repeat(30_000),
  'token:\n'.repeat(40_000),
  ' \n'.repeat(100_000),
  `token: |\n${' \n'.repeat(100_000)}`,
  ' '.repeat(300_000),
  '\\'.repeat(300_000),
  '\\n'.repeat(150_000),
  '- '.repeat(150_000),
])('a text of some hundred kilobytes takes no long time: %.20s', (text) => {
  expect(leastCpuMs(() => redact(text))).toBeLessThan(1_000);
});
