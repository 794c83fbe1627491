import { renderTemplate } from '../../../src/qos/prediction/render-template';

const node = {
  metadata: {
    name: 'n1',
    labels: { 'topology.kubernetes.io/zone': 'a' },
    annotations: { odd: "a'b", long: 'a\nb: c' },
  },
  spec: { unschedulable: false },
  status: {
    addresses: [
      { type: 'Hostname', address: 'n1' },
      { type: 'InternalIP', address: '10.0.0.7' },
    ],
    nodeInfo: { cpus: 8 },
  },
};
/** As Crane's chart installs it, in short. */
const instance = 'instance=~"({{.metadata.name}})(:\\\\d+)?"';

test.each`
  name                                            | template                                                                                          | want
  ${'the template of Crane’s chart'}              | ${instance}                                                                                       | ${'instance=~"(n1)(:\\\\d+)?"'}
  ${'space around a field'}                       | ${'{{ .metadata.name }}'}                                                                         | ${'n1'}
  ${'trimmed space'}                              | ${'a \n {{- .metadata.name -}} \n b'}                                                             | ${'an1b'}
  ${'a comment'}                                  | ${'a{{/* }} */}}b'}                                                                               | ${'ab'}
  ${'a label'}                                    | ${'{{ index .metadata.labels "topology.kubernetes.io/zone" }}'}                                   | ${'a'}
  ${'an item of a list'}                          | ${'{{ (index .status.addresses 1).address }}'}                                                    | ${'10.0.0.7'}
  ${'an item by index alone'}                     | ${'{{ index .status.addresses 1 "address" }}'}                                                    | ${'10.0.0.7'}
  ${'a number'}                                   | ${'{{ .status.nodeInfo.cpus }}'}                                                                  | ${'8'}
  ${'the address of a kind'}                      | ${'{{ range .status.addresses }}{{ if eq .type "InternalIP" }}{{ .address }}{{ end }}{{ end }}'}  | ${'10.0.0.7'}
  ${'the root inside of a range'}                 | ${'{{ range .status.addresses }}{{ $.metadata.name }},{{ end }}'}                                 | ${'n1,n1,'}
  ${'else if'}                                    | ${'{{ if .spec.unschedulable }}a{{ else if eq .metadata.name "n2" "n1" }}b{{ else }}c{{ end }}d'} | ${'bd'}
  ${'with, and else'}                             | ${'{{ with .metadata }}{{ .name }}{{ end }}{{ with .none }}a{{ else }}b{{ end }}'}                | ${'n1b'}
  ${'a range over nothing'}                       | ${'{{ range .none }}a{{ else }}none{{ end }}'}                                                    | ${'none'}
  ${'and, or, not, ne, with parentheses'}         | ${'{{ if and (not .spec.unschedulable) (or .none (ne .metadata.name "x")) }}yes{{ end }}'}        | ${'yes'}
  ${'a range over an object, by its keys'}        | ${'{{ range .status.nodeInfo }}{{ . }}{{ end }}'}                                                 | ${'8'}
  ${'a text without actions, with single braces'} | ${'sum(a{b="c"})'}                                                                                | ${'sum(a{b="c"})'}
`('$name', ({ template, want }: { template: string; want: string }) => {
  expect(renderTemplate(template, node)).toBe(want);
});

test.each`
  name                                  | template                                        | because
  ${'a value that the Node has not'}    | ${'a\n{{ .metadata.nam }}'}                     | ${'{{ .metadata.nam }} in line 2 names a value that the Node does not have'}
  ${'a field of what it has not'}       | ${'{{ .a.b.c }}'}                               | ${'names a value that the Node does not have'}
  ${'what every object inherits'}       | ${'{{ .constructor.name }}'}                    | ${'names a value that the Node does not have'}
  ${'an object'}                        | ${'{{ .metadata }}'}                            | ${'names a list or an object'}
  ${'a value that ends a text of YAML'} | ${"'{{ .metadata.annotations.odd }}'"}          | ${'would change the YAML around it'}
  ${'a value of two lines'}             | ${'{{ .metadata.annotations.long }}'}           | ${'would change the YAML around it'}
  ${'a pipe'}                           | ${'{{ .metadata.name | printf "%s" }}'}         | ${'is not understood from "| printf'}
  ${'a variable'}                       | ${'{{ $a := .metadata.name }}'}                 | ${'is not understood from "$a :='}
  ${'a definition'}                     | ${'{{ define "a" }}{{ end }}'}                  | ${'has the function define, which is not known'}
  ${'another function'}                 | ${'{{ printf "%s" .metadata.name }}'}           | ${'has the function printf, which is not known'}
  ${'an action that is not closed'}     | ${'a {{ .metadata.name'}                        | ${'{{ in line 1 is not closed'}
  ${'an action without a value'}        | ${'a {{ }}'}                                    | ${'has no value'}
  ${'a block that is not ended'}        | ${'{{ if .a }}'}                                | ${'is not ended: write {{ end }}'}
  ${'an else if that is not ended'}     | ${'{{ if .a }}{{ else if .b }}'}                | ${'is not ended: write {{ end }}'}
  ${'an end without a block'}           | ${'{{ end }}'}                                  | ${'ends no block'}
  ${'an else without a block'}          | ${'{{ else }}'}                                 | ${'belongs to no block'}
  ${'a second else'}                    | ${'{{ if .a }}{{ else }}{{ else }}{{ end }}'}   | ${'belongs to no block'}
  ${'a function without enough values'} | ${'{{ eq .a }}'}                                | ${'gives eq a wrong number of values'}
  ${'two values'}                       | ${'{{ .a .b }}'}                                | ${'has more than one value'}
  ${'a parenthesis that is not closed'} | ${'{{ if (eq .a .b }}{{ end }}'}                | ${'a parenthesis that is not closed'}
  ${'a parenthesis too many'}           | ${'{{ .a) }}'}                                  | ${'has more than one value: )'}
  ${'a range over a number'}            | ${'{{ range .status.nodeInfo.cpus }}{{ end }}'} | ${'neither a list nor an object'}
  ${'too many blocks'}                  | ${'{{ if 1 }}'.repeat(20)}                      | ${'is nested deeper than 16 blocks'}
  ${'a template that is too long'}      | ${'a'.repeat(16_385)}                           | ${'has more than 16384 characters'}
`('refused: $name', ({ template, because }: { template: string; because: string }) => {
  expect(() => renderTemplate(template, node)).toThrow(because);
});

test('loops in loops end soon', () => {
  const many = { items: Array.from({ length: 1000 }, () => 'a') };
  const loops = '{{ range $.items }}'.repeat(8) + 'b' + '{{ end }}'.repeat(8);
  expect(() => renderTemplate(loops, many)).toThrow('longer than');
  const silent = '{{ range $.items }}'.repeat(8) + '{{ end }}'.repeat(8);
  expect(() => renderTemplate(silent, many)).toThrow('longer than');
});

test('a hostile template is refused in a short time', () => {
  for (const unit of ['{{', '{{/*', '{{ "', '{{ (', '{{ .a', '{{ "a" ']) {
    const begin = performance.now();
    expect(() => renderTemplate(unit.repeat(16_000 / unit.length), node)).toThrow();
    expect(performance.now() - begin).toBeLessThan(1_000);
  }
});
