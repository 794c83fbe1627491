import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ImageServiceDefinition } from '../gen/cri/v1/cri';
import { openChannel } from '../../src/cri/client';
import { loadScript } from '../support/load-script';
import { suiteKindOf } from './cri-suite-kinds';
import { type Runtime, waitUntil } from './rig';

const { listImages } = ImageServiceDefinition.methods;

/** The names in the suite's list of images; each is an image of its own, since some tests remove theirs. */
const listed = ['Alpine', 'BusyBox', 'ResourceConsumer', 'VolumeCopyUp', 'VolumeOwnership', 'Nginx'];
const referenceOf = (name: string): string => `localhost/suite-${name.toLowerCase()}:1`;

/** Paths and modes of a layer. */
interface Entry {
  readonly name: string;
  readonly type?: string;
  readonly mode?: number;
  readonly owner?: number;
  readonly content?: Buffer;
}
interface Image {
  readonly name: string;
  readonly entries?: readonly Entry[];
  readonly settings?: object;
}
interface ImageScript {
  readonly pauseImage: string;
  readonly packTinyImage: (busybox: string, images: readonly Image[]) => Buffer;
}
interface RuntimeKind {
  readonly program: string;
  readonly listImports: (options: {
    readonly archive: string;
    readonly names: readonly string[];
    readonly criSocket: string;
    readonly major: number;
  }) => readonly (readonly [string, ...string[]])[];
}
interface KindScript {
  readonly kindOf: (suite: string) => RuntimeKind;
}

const fileOf = (name: string, text: string): Entry => ({ name, content: Buffer.from(text) });
const folderOf = (name: string, owner = 0): Entry => ({ name, type: '5', mode: 0o755, owner });
const volumesOf = (...paths: readonly string[]) => ({ Volumes: Object.fromEntries(paths.map((path) => [path, {}])) });
/** Names that the suite expects of its busybox. */
const users = [
  fileOf('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/bin/false\n'),
  fileOf('etc/group', 'root:x:0:\ndaemon:x:1:\nwheel:x:10:root\n'),
];
/** The contents of the two images with volumes, as the suite's own Dockerfiles make them. */
const withVolumes: Readonly<Record<string, Omit<Image, 'name'>>> = {
  VolumeCopyUp: {
    entries: [
      ...['test_dir/', 'C:/', 'C:/weird_test_dir/', ':colon_prefixed/'].map((name) => folderOf(name)),
      fileOf('test_dir/test_file', 'test_content\n'),
      fileOf('C:/weird_test_dir/weird_test_file', 'test_content\n'),
      fileOf(':colon_prefixed/colon_prefixed_file', 'test_content\n'),
    ],
    settings: volumesOf('/test_dir', 'C:/weird_test_dir', '/:colon_prefixed'),
  },
  VolumeOwnership: { entries: [folderOf('test_dir/', 65_534)], settings: volumesOf('/test_dir') },
};

/** The images of the suite for one runtime. */
export class SuiteImages {
  private constructor(
    private readonly runtime: Runtime,
    private readonly kind: RuntimeKind,
    private readonly names: readonly string[],
    private readonly archive: string,
    /** The list of the images for the suite, a path in the runtime's mount namespace. */
    readonly list: string,
  ) {}

  /** Packs the images into an archive in the folder, a path in the runtime's mount namespace. */
  static async pack(runtime: Runtime, folder: string): Promise<SuiteImages> {
    const { packTinyImage, pauseImage } = await loadScript<ImageScript>('runtime/tiny-image.mjs');
    const { kindOf } = await loadScript<KindScript>('runtime/kinds.mjs');
    const images = listed.map((name) => ({
      name: referenceOf(name),
      entries: [...users, ...(withVolumes[name]?.entries ?? []), fileOf('etc/image', name)],
      settings: { ...suiteKindOf(runtime.suite).imageSettings, ...withVolumes[name]?.settings },
    }));
    const pause = { name: pauseImage, settings: { StopSignal: 'SIGKILL' } };
    const busybox = `/proc/${runtime.namespacePid}/root/usr/bin/busybox`;
    const digest = 'sha256:'.padEnd(71, '0');
    const list = [
      ...listed.map((name) => `${name} = '${referenceOf(name)}'`),
      `Pause = '${pauseImage}'`,
      `BusyBoxByDigest = 'localhost/suite@${digest}'`,
    ];
    const [archive, listFile] = [join(folder, 'images.tar'), join(folder, 'images.toml')];
    mkdirSync(join(runtime.work, folder), { recursive: true });
    writeFileSync(join(runtime.work, archive), packTinyImage(busybox, [...images, pause]));
    writeFileSync(join(runtime.work, listFile), list.join('\n'));
    const names = [...images, pause].map(({ name }) => name);
    return new SuiteImages(runtime, kindOf(runtime.suite), names, archive, listFile);
  }

  /**
   * Brings the images that the runtime does not have into it.
   * @param criSocket where the runtime listens, a path in its mount namespace
   * @param run runs a command there
   */
  async importMissing(
    criSocket: string,
    run: (command: string, args: readonly string[]) => Promise<unknown>,
  ): Promise<void> {
    const channel = openChannel(join(this.runtime.work, criSocket), ImageServiceDefinition.fullName);
    const listMissing = async () => {
      const { images } = await channel.call(listImages, { filter: undefined });
      const present = new Set(images.flatMap(({ repoTags }) => repoTags));
      return this.names.filter((name) => !present.has(name));
    };
    try {
      const names = await listMissing();
      if (names.length === 0) return;
      const { archive, kind } = this;
      const major = Number.parseInt(this.runtime.packages[kind.program] ?? '', 10);
      for (const [command, ...args] of kind.listImports({ archive, names, criSocket, major })) await run(command, args);
      await waitUntil('the images to be listed', async () => (await listMissing()).length === 0);
    } finally {
      channel.close();
    }
  }
}
