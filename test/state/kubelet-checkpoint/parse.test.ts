import { formatKubeletState, nameContainers, parseKubeletState } from '../../../src/state/kubelet-checkpoint';
import { hashFnv1a } from '../../../src/state/kubelet-checkpoint/go-spew';
import { stateOf } from './vectors';

/** A file with the right checksum for this printed form. */
const sealed = (content: string, printed: string): string =>
  `${content.slice(0, -1)},"checksum":${hashFnv1a(printed)}}`;
const v2 = (entries: string): string =>
  `(*state.CPUManagerCheckpoint){PolicyName:(string)static DefaultCPUSet:(string)0-1 Entries:(map[string]map[string]string)${entries} Checksum:(checksum.Checksum)0}`;
const v3 = (pods: string, name = 'CPUManagerCheckpoint'): string =>
  `(*state.${name}){PolicyName:(string)static DefaultCPUSet:(string)0-1 Entries:(map[string]map[string]string)map[] PodEntries:(state.PodCPUAssignments)${pods} Checksum:(checksum.Checksum)0}`;
const HEAD = '"policyName":"static","defaultCpuSet":"0-1"';
const v4 = (data: string, key = 'dataChecksum'): string =>
  JSON.stringify({ policyName: 'none', defaultCpuSet: '7', data, [key]: hashFnv1a(`(string)${data}`) });

describe('accepted', () => {
  test.each`
    name                                                   | text                                                                                                                | format
    ${'white space and another order of keys'}             | ${`{"checksum":${hashFnv1a(v2('map[]'))}, "defaultCpuSet":"0-1",\n "policyName":"static"}\n`}                       | ${'v2'}
    ${'keys in another case'}                              | ${sealed('{"POLICYNAME":"static","defaultCPUSet":"0-1"}', v2('map[]'))}                                             | ${'v2'}
    ${'a long s in a key, which Go folds'}                 | ${sealed('{"policyName":"static","defaultCpu\u017fet":"0-1"}', v2('map[]'))}                                        | ${'v2'}
    ${'unknown keys'}                                      | ${sealed(`{${HEAD},"later":{"a":[]}}`, v2('map[]'))}                                                                | ${'v2'}
    ${'entries null'}                                      | ${sealed(`{${HEAD},"entries":null}`, v2('<nil>'))}                                                                  | ${'v2'}
    ${'a pod null'}                                        | ${sealed(`{${HEAD},"entries":{"p":null}}`, v2('map[p:<nil>]'))}                                                     | ${'v2'}
    ${'a container null'}                                  | ${sealed(`{${HEAD},"entries":{"p":{"c":null}}}`, v2('map[p:map[c:]]'))}                                             | ${'v2'}
    ${'a pod named __proto__'}                             | ${sealed(`{${HEAD},"entries":{"__proto__":{"c":"3"}}}`, v2('map[__proto__:map[c:3]]'))}                             | ${'v2'}
    ${'the long type name of v2'}                          | ${sealed(`{${HEAD}}`, v2('map[]').replace('Checkpoint)', 'CheckpointV2)'))}                                         | ${'v2'}
    ${'no checksum'}                                       | ${`{${HEAD}}`}                                                                                                      | ${'v2'}
    ${'checksum null'}                                     | ${`{${HEAD},"checksum":null}`}                                                                                      | ${'v2'}
    ${'no checksum, entries by container id'}              | ${`{${HEAD},"entries":{"id":"3"}}`}                                                                                 | ${'v1'}
    ${'the long type name of v3'}                          | ${sealed(`{${HEAD}}`, v3('map[]', 'CPUManagerCheckpointV3'))}                                                       | ${'v3'}
    ${'a pod entry without a set'}                         | ${sealed(`{${HEAD},"podEntries":{"p":{}}}`, v3('map[p:{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})<nil>}}]'))} | ${'v3'}
    ${'pod entries null'}                                  | ${sealed(`{${HEAD},"podEntries":null}`, v3('<nil>'))}                                                               | ${'v3'}
    ${'v4 with unknown keys and another case in its data'} | ${v4('{"policyName":"static","defaultCPUSet":"0-1","x":1}')}                                                        | ${'v4'}
    ${'v4 with its checksum under the key checksum'}       | ${v4('{"policyName":"static","defaultCpuSet":"0-1"}', 'checksum')}                                                  | ${'v4'}
    ${'v4 without data, as an older kubelet reads it'}     | ${`{${HEAD},"podEntries":{"p":{"cpuSet":"4"}},"checksum":0}`}                                                       | ${'v2'}
  `('$name', ({ text, format }: Record<string, string>) => {
    expect(parseKubeletState(text!)).toMatchObject({
      ok: true,
      format,
      state: { policyName: 'static', defaultCpuSet: '0-1' },
    });
  });
});

describe('refused', () => {
  test.each`
    name                                    | text                                                                  | problem        | because
    ${'an empty file'}                      | ${''}                                                                 | ${'not-json'}  | ${'not JSON'}
    ${'a truncated file'}                   | ${'{"policyName":"static","def'}                                      | ${'not-json'}  | ${'not JSON'}
    ${'two documents'}                      | ${'{}{}'}                                                             | ${'not-json'}  | ${'not JSON'}
    ${'a list'}                             | ${'[]'}                                                               | ${'shape'}     | ${'the file is not a JSON object'}
    ${'null'}                               | ${'null'}                                                             | ${'shape'}     | ${'the file is not a JSON object'}
    ${'another JSON file'}                  | ${'{"kind":"Pod"}'}                                                   | ${'shape'}     | ${'there is no "policyName"'}
    ${'a policy that is a number'}          | ${'{"policyName":1}'}                                                 | ${'shape'}     | ${'"policyName" is not a text'}
    ${'entries that are a list'}            | ${`{${HEAD},"entries":[]}`}                                           | ${'shape'}     | ${'"entries" is not an object'}
    ${'a container that is a number'}       | ${`{${HEAD},"entries":{"p":{"c":1}}}`}                                | ${'shape'}     | ${'"entries", key "p", key "c" is not a text'}
    ${'a checksum that is a text'}          | ${`{${HEAD},"checksum":"1"}`}                                         | ${'shape'}     | ${'"checksum" is not a whole number'}
    ${'a negative checksum'}                | ${`{${HEAD},"checksum":-1}`}                                          | ${'shape'}     | ${'"checksum" is not a whole number'}
    ${'a broken checksum'}                  | ${`{${HEAD},"checksum":0.5}`}                                         | ${'shape'}     | ${'"checksum" is not a whole number'}
    ${'a wrong checksum'}                   | ${`{${HEAD},"checksum":1337}`}                                        | ${'corrupted'} | ${'checksum 1337 fits none'}
    ${'pod entries under a checksum of v2'} | ${sealed(`{${HEAD},"podEntries":{"p":{"cpuSet":"4"}}}`, v3('map[]'))} | ${'corrupted'} | ${'fits none'}
    ${'an invalid default set'}             | ${'{"policyName":"none","defaultCpuSet":"1.3"}'}                      | ${'cpu-list'}  | ${'could not parse default cpu set: "1.3"'}
    ${'a default set with white space'}     | ${'{"policyName":"none","defaultCpuSet":"1, 3"}'}                     | ${'cpu-list'}  | ${'could not parse default cpu set'}
    ${'a descending range'}                 | ${'{"policyName":"none","defaultCpuSet":"3-1"}'}                      | ${'cpu-list'}  | ${'could not parse default cpu set'}
    ${'a range without end'}                | ${`{${HEAD},"entries":{"p":{"c":"4-"}}}`}                             | ${'cpu-list'}  | ${'could not parse cpuset of container c in pod p: "4-"'}
    ${'a CPU id above the limit'}           | ${`{${HEAD},"entries":{"p":{"c":"99999999999"}}}`}                    | ${'cpu-list'}  | ${'could not parse cpuset of container c in pod p'}
    ${'an invalid list in v1'}              | ${`{${HEAD},"entries":{"id":"x"}}`}                                   | ${'cpu-list'}  | ${'could not parse cpuset of container id id'}
    ${'v4 with changed data'}               | ${v4('{"policyName":"static"}').replace('static', 'statik')}          | ${'corrupted'} | ${'does not fit "data"'}
    ${'v4 without its checksum'}            | ${`{${HEAD},"data":"{}"}`}                                            | ${'corrupted'} | ${'does not fit "data"'}
    ${'v4 without its data'}                | ${`{${HEAD},"dataChecksum":1}`}                                       | ${'corrupted'} | ${'does not fit "data"'}
    ${'v4 whose data is not JSON'}          | ${v4('{"policyName"')}                                                | ${'not-json'}  | ${'"data" is not JSON'}
    ${'v4 whose data is a list'}            | ${v4('[]')}                                                           | ${'shape'}     | ${'"data" is not a JSON object'}
    ${'an invalid list of a pod in v4'}     | ${v4(`{${HEAD},"podEntries":{"p":{"cpuSet":"a"}}}`)}                  | ${'cpu-list'}  | ${'could not parse cpuset of pod p'}
    ${'a file of more than 1 MiB'}          | ${' '.repeat(1024 * 1024 + 1)}                                        | ${'too-large'} | ${'longer than 1 MiB'}
  `('$name', ({ text, problem, because }: Record<string, string>) => {
    expect(parseKubeletState(text!)).toEqual({ ok: false, problem, because: expect.stringContaining(because!) });
  });
});

test('nameContainers gives v1 entries their names and drops unknown ids', () => {
  const parsed = parseKubeletState(`{${HEAD},"entries":{"id1":"2","id2":"3","gone":"4"}}`);
  if (!parsed.ok || parsed.format !== 'v1') throw new Error('not v1');
  const known = ['id1', 'id2'].map((id) => [id, { podUid: 'p', containerName: `c-${id}` }] as const);
  expect(nameContainers(parsed.state, new Map(known))).toEqual(
    stateOf({ policyName: 'static', defaultCpuSet: '0-1', entries: { p: { 'c-id1': '2', 'c-id2': '3' } } }),
  );
});

test('a name with invalid Unicode is written as in Go, and read back', () => {
  const state = stateOf({ policyName: 'static', defaultCpuSet: '', entries: { 'p\ud800': { c: '1' } } });
  expect(parseKubeletState(formatKubeletState(state, 'v2'))).toMatchObject({
    ok: true,
    state: { entries: new Map([['p\ufffd', new Map([['c', '1']])]]) },
  });
});

test('keys are sorted by their UTF-8 bytes, as in Go', () => {
  const state = stateOf({ policyName: 'static', defaultCpuSet: '0-1', entries: { '💡': { c: '2' }, Ａ: { c: '3' } } });
  const content = `{${HEAD},"entries":{"Ａ":{"c":"3"},"💡":{"c":"2"}}}`;
  expect(formatKubeletState(state, 'v2')).toBe(sealed(content, v2('map[Ａ:map[c:3] 💡:map[c:2]]')));
});
