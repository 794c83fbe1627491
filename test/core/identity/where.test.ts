import { parseCpuList } from '../../../src/core/cpuset';
import { directoryNameOf, isDirectoryName, variablesOf } from '../../../src/core/identity/where';

test.each`
  sandboxId         | name              | directory
  ${'3f2a'}         | ${'db'}           | ${'3f2a.db'}
  ${'sandbox-uid'}  | ${'a-1'}          | ${'sandbox-uid.a-1'}
  ${'a'.repeat(64)} | ${'b'.repeat(63)} | ${`${'a'.repeat(64)}.${'b'.repeat(63)}`}
`('a container $name of sandbox $sandboxId has a directory of that name', ({ sandboxId, name, directory }) => {
  expect(directoryNameOf({ sandboxId, name })).toBe(directory);
  expect(isDirectoryName(directory as string)).toBe(true);
});

test.each`
  sandboxId          | name
  ${'3f2a'}          | ${''}
  ${''}              | ${'db'}
  ${'3f2a'}          | ${'..'}
  ${'3f2a'}          | ${'../../etc'}
  ${'3f2a'}          | ${'a/b'}
  ${'3f2a'}          | ${'a.b'}
  ${'3f2a'}          | ${'A'}
  ${'3f2a'}          | ${'a\n'}
  ${'3f2a'}          | ${'a\0'}
  ${'3f2a'}          | ${'-a'}
  ${'3f2a'}          | ${'b'.repeat(64)}
  ${'..'}            | ${'db'}
  ${'../x'}          | ${'db'}
  ${'.draft'}        | ${'db'}
  ${'a.b'}           | ${'db'}
  ${'a'.repeat(129)} | ${'db'}
`('$sandboxId and $name make no name of a directory', ({ sandboxId, name }) => {
  expect(directoryNameOf({ sandboxId, name })).toBeUndefined();
});

test.each(['', '.', '..', '.draft', 'a', 'a.', '.a', 'a.b.c', 'a.B', 'lost+found'])(
  '%j is no name of a directory',
  (text) => {
    expect(isDirectoryName(text)).toBe(false);
  },
);

test('a container gets the path of the file, and its CPUs where they are decided', () => {
  const hostDirectory = '/run/cpusetd/identity/s.db';
  expect(variablesOf({ hostDirectory, cpus: parseCpuList('2-3,8') })).toEqual([
    ['CPUSETD_CPUS_FILE', '/etc/cpusetd/cpus.json'],
    ['CPUSETD_CPUS', '2-3,8'],
  ]);
  expect(variablesOf({ hostDirectory })).toEqual([['CPUSETD_CPUS_FILE', '/etc/cpusetd/cpus.json']]);
});
