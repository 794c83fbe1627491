import { DecisiveAnnotations } from '../../core/annotations/decisive';
import type { PodInfo } from '../../core/model/events';
import { takeMapEntry } from '../../wire/map-entry';
import type { ProtobufReader } from '../../wire/protobuf';
import { readFields } from './read-fields';
import { readResources, toCpuResources, type Resources } from './read-resources';

/** The fields of a `PodSandboxConfig` that were read so far. */
export class PodConfig {
  /** False for a pod of another operating system. */
  isLinux = false;
  private uid = '';
  private namespace = '';
  private name = '';
  private cgroupParent = '';
  private readonly annotations = new DecisiveAnnotations();
  private readonly resources: Resources = {};

  read(source: ProtobufReader): void {
    readFields(source, {
      1: (reader) =>
        readFields(reader, {
          1: (metadata) => (this.name = metadata.readString()),
          2: (metadata) => (this.uid = metadata.readString()),
          3: (metadata) => (this.namespace = metadata.readString()),
        }),
      7: (reader) => takeMapEntry(reader.readBytes(), this.annotations),
      8: (reader) => {
        this.isLinux = true;
        readFields(reader, {
          1: (linux) => (this.cgroupParent = linux.readString()),
          5: (linux) => readResources(linux, this.resources),
        });
      },
    });
  }

  toPodInfo(sandboxId: string): PodInfo {
    const { uid, namespace, name, cgroupParent } = this;
    const annotations = this.annotations.all;
    const podResources = toCpuResources(this.resources);
    const hasSums = Object.keys(podResources).length > 0;
    return { sandboxId, uid, namespace, name, annotations, cgroupParent, ...(hasSums && { podResources }) };
  }
}
