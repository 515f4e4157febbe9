// The solid stage: space with light and shadow, by three.js.

import * as three from 'three';
import { ConvexGeometry } from 'three/examples/jsm/geometries/ConvexGeometry.js';
import { bodyColour } from './flat';
import type { Body, Plane, SceneInfo, Target, Tie } from './format';
import { placeAt, placeBody, pointAt, stateAt, wallPane, worldPlaces, type Box, type Vector } from './geometry';
import { arrowShare, flashes, hasTrail, largestImpulse, type Frame, type Shown, type Stage } from './stage';
import type { Theme } from './theme';
import { OrbitView } from './view';

const vector = (p: Vector): three.Vector3 => new three.Vector3(p[0], p[1], p[2]);

export function hasWebGL(): boolean {
  try {
    const canvas = document.createElement('canvas');
    return canvas.getContext('webgl2') !== null;
  } catch {
    return false;
  }
}

// a ball of two colours: how it is turned can be seen
function ballTexture(colour: string): three.Texture {
  const canvas = document.createElement('canvas');
  canvas.width = 256;
  canvas.height = 128;
  const pen = canvas.getContext('2d')!;
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 256, 128);
  pen.fillStyle = 'rgba(255, 255, 255, 0.82)';
  for (let k = 0; k < 4; k++) pen.fillRect(k * 64, (k % 2) * 64, 32, 64);
  const texture = new three.CanvasTexture(canvas);
  texture.colorSpace = three.SRGBColorSpace;
  return texture;
}

// A name in space, of the same size wherever it is, in front of all else.
function nameSprite(text: string, theme: Theme): three.Sprite {
  const canvas = document.createElement('canvas');
  const font = '600 26px system-ui, sans-serif';
  const pen = canvas.getContext('2d')!;
  pen.font = font;
  canvas.width = Math.ceil(pen.measureText(text).width) + 12;
  canvas.height = 36;
  pen.font = font;
  pen.textBaseline = 'middle';
  pen.lineWidth = 7;
  pen.lineJoin = 'round';
  pen.strokeStyle = theme.paper;
  pen.strokeText(text, 6, 18);
  pen.fillStyle = theme.ink;
  pen.fillText(text, 6, 18);
  const map = new three.CanvasTexture(canvas);
  map.colorSpace = three.SRGBColorSpace;
  const sprite = new three.Sprite(new three.SpriteMaterial({ map, depthTest: false, sizeAttenuation: false }));
  sprite.scale.set(canvas.width / 1300, canvas.height / 1300, 1);
  sprite.renderOrder = 2;
  return sprite;
}

// The things of one motion; made once, moved for every frame.
class TrackModel {
  readonly group = new three.Group();
  private readonly bodies: three.Object3D[];
  private readonly ties: { tie: Tie; meshes: three.Mesh[] }[];
  private readonly trails: three.Line[];
  private readonly arrows: three.ArrowHelper[] = [];
  private readonly rings: three.Mesh[] = [];
  private names: three.Sprite[] = []; // once they are asked for
  private readonly state: Float32Array;

  constructor(
    private readonly scene: SceneInfo,
    readonly shown: Shown,
    private readonly theme: Theme,
    private readonly size: number,
  ) {
    this.state = new Float32Array(shown.track.size);
    this.bodies = scene.bodies.map((b, i) => this.makeBody(b, this.colour(i)));
    this.ties = scene.ties.map((tie) => ({ tie, meshes: this.makeTie(tie) }));
    this.trails = scene.bodies.map((_, i) => this.makeTrail(this.colour(i)));
    for (const p of worldPlaces(scene)) this.addHook(p);
  }

  private colour(body: number): string {
    return this.shown.colour ?? bodyColour(this.theme, this.scene, body);
  }

  private material(colour: string, opacity = 1): three.MeshStandardMaterial {
    const alpha = opacity * (this.shown.ghost ? 0.4 : 1);
    return new three.MeshStandardMaterial({ color: colour, roughness: 0.55, metalness: 0.05, transparent: alpha < 1, opacity: alpha });
  }

  private readonly textures = new Map<string, three.Texture>();

  // one for all balls of a colour
  private texture(colour: string): three.Texture {
    const made = this.textures.get(colour) ?? ballTexture(colour);
    this.textures.set(colour, made);
    return made;
  }

  private add<T extends three.Object3D>(object: T): T {
    object.castShadow = !this.shown.ghost;
    this.group.add(object);
    return object;
  }

  private addHook(p: Vector): void {
    const hook = this.add(new three.Mesh(new three.SphereGeometry(this.size * 0.008, 16, 12), this.material(this.theme.ink)));
    hook.position.copy(vector(p));
  }

  private makeBody(body: Body, colour: string): three.Object3D {
    const object = new three.Group();
    object.matrixAutoUpdate = false;
    const part = (geometry: three.BufferGeometry, material: three.Material) => {
      const mesh = new three.Mesh(geometry, material);
      mesh.castShadow = !this.shown.ghost;
      object.add(mesh);
      return mesh;
    };
    if (body.shape === 'ball') {
      const material = this.material(colour);
      if (body.rigid) {
        material.map = this.texture(colour);
        material.color.set('#ffffff');
      }
      // many are small on the screen
      const fine = this.scene.bodies.length > 24 ? 20 : 40;
      part(new three.SphereGeometry(body.radius, fine, 0.7 * fine), material);
    } else if (body.shape === 'rim') {
      this.makeRim(body, colour, part);
    } else if (body.shape === 'points') {
      const geometry = body.points.length > 3 ? new ConvexGeometry(body.points.map(vector)) : new three.SphereGeometry(this.size * 0.01);
      part(geometry, this.material(colour, 0.85));
      object.add(new three.LineSegments(new three.EdgesGeometry(geometry), new three.LineBasicMaterial({ color: colour })));
    } else {
      part(new three.SphereGeometry(this.size * 0.012, 16, 12), this.material(colour));
    }
    this.group.add(object);
    return object;
  }

  // a wheel: tyre, translucent disc, and one spoke that tells how it is turned
  private makeRim(body: Body, colour: string, part: (g: three.BufferGeometry, m: three.Material) => three.Mesh): void {
    const r = body.radius;
    part(new three.TorusGeometry(r, r * 0.045, 14, 64), this.material(colour));
    const disc = part(new three.CircleGeometry(r, 64), this.material(colour, 0.3));
    (disc.material as three.Material).side = three.DoubleSide;
    disc.castShadow = false;
    const spoke = part(new three.CylinderGeometry(r * 0.03, r * 0.03, r, 10), this.material(this.theme.ink));
    spoke.rotation.z = -Math.PI / 2;
    spoke.position.x = r / 2;
    const axle = part(new three.CylinderGeometry(r * 0.03, r * 0.03, r * 0.5, 10), this.material(this.theme.ink));
    axle.rotation.x = Math.PI / 2;
  }

  private makeTie(tie: Tie): three.Mesh[] {
    const parts = tie.kind === 'joint' ? [tie.from, tie.to].filter((p) => p.points.length > 0).length : 1;
    const owner = Math.max(placeBody(this.scene, tie.to), 0);
    const colour = this.shown.colour ?? (tie.kind === 'segment' ? bodyColour(this.theme, this.scene, owner) : this.theme.soft);
    const radius = this.size * (tie.kind === 'spring' ? 0.003 : 0.006);
    return Array.from({ length: parts }, () =>
      this.add(new three.Mesh(new three.CylinderGeometry(radius, radius, 1, 10), this.material(colour))),
    );
  }

  private makeTrail(colour: string): three.Line {
    const geometry = new three.BufferGeometry();
    geometry.setAttribute('position', new three.BufferAttribute(new Float32Array(3 * 400), 3));
    const line = new three.Line(geometry, new three.LineBasicMaterial({ color: colour, transparent: true, opacity: this.shown.ghost ? 0.4 : 0.75 }));
    line.frustumCulled = false;
    this.group.add(line);
    return line;
  }

  // a cylinder of height 1 from a to b
  private static span(mesh: three.Mesh, a: Vector, b: Vector): void {
    const [from, to] = [vector(a), vector(b)];
    const length = Math.max(from.distanceTo(to), 1e-9);
    mesh.position.copy(from).add(to).multiplyScalar(0.5);
    mesh.quaternion.setFromUnitVectors(new three.Vector3(0, 1, 0), to.sub(from).divideScalar(length));
    mesh.scale.set(1, length, 1);
  }

  private moveBody(body: Body, object: three.Object3D, x: Float32Array): void {
    const centre = pointAt(x, 3, body.first);
    if (!body.rigid) {
      object.matrix.setPosition(centre[0], centre[1], centre[2]);
      return;
    }
    const axes = [1, 2, 3].map((k) => vector(pointAt(x, 3, body.first + k)).sub(vector(centre)));
    object.matrix.makeBasis(axes[0], axes[1], axes[2]).setPosition(centre[0], centre[1], centre[2]);
  }

  private moveTie(tie: Tie, meshes: three.Mesh[], x: Float32Array): void {
    const [a, b] = [placeAt(tie.from, x, 3), placeAt(tie.to, x, 3)];
    if (tie.kind !== 'joint') {
      TrackModel.span(meshes[0], a, b);
      return;
    }
    const bodies = [tie.from, tie.to].map((p) => placeBody(this.scene, p)).filter((k) => k >= 0);
    bodies.forEach((body, k) => TrackModel.span(meshes[k], pointAt(x, 3, this.scene.bodies[body].first), b));
  }

  private moveTrail(line: three.Line, body: Body, frame: Frame): void {
    const { track } = this.shown;
    line.visible = frame.trail > 0 && hasTrail(this.scene, this.scene.bodies.indexOf(body));
    if (!line.visible) return;
    const last = Math.min(Math.floor(frame.time / track.dt + 1e-6), track.states - 1);
    const first = Math.max(0, last - Math.ceil(frame.trail / track.dt));
    const stride = Math.max(1, Math.ceil((last - first) / 398));
    const positions = line.geometry.getAttribute('position') as three.BufferAttribute;
    let count = 0;
    for (let k = last; k >= first && count < 400; k -= stride, count++) {
      const at = k * track.size + 3 * body.first;
      positions.setXYZ(count, track.x[at], track.x[at + 1], track.x[at + 2]);
    }
    positions.needsUpdate = true;
    line.geometry.setDrawRange(0, count);
  }

  private flash(k: number): { ring: three.Mesh; arrow: three.ArrowHelper } {
    while (this.rings.length <= k) {
      const colour = new three.Color(this.theme.flash);
      const ring = new three.Mesh(
        new three.SphereGeometry(1, 20, 14),
        new three.MeshBasicMaterial({ color: colour, transparent: true, depthTest: false }),
      );
      const arrow = new three.ArrowHelper(new three.Vector3(0, 0, 1), new three.Vector3(), 1, colour);
      this.rings.push(ring);
      this.arrows.push(arrow);
      this.group.add(ring, arrow);
    }
    return { ring: this.rings[k], arrow: this.arrows[k] };
  }

  private moveFlashes(frame: Frame): void {
    const e = this.shown.track.events;
    const most = largestImpulse(e, 3);
    // limits of ropes act all the time: they are left to the plots
    const active = frame.contacts ? flashes(this.shown.track, frame.time).slice(-40) : [];
    active.forEach(({ index, age }, k) => {
      const { ring, arrow } = this.flash(k);
      const point = vector([...e.point.subarray(3 * index, 3 * index + 3)]);
      const impulse = vector([...e.impulse.subarray(3 * index, 3 * index + 3)]);
      ring.visible = true;
      ring.position.copy(point);
      ring.scale.setScalar(this.size * 0.012 * (1 + 1.5 * age));
      (ring.material as three.MeshBasicMaterial).opacity = 0.8 * (1 - age);
      arrow.visible = impulse.length() > 0;
      if (!arrow.visible) return;
      const length = this.size * 0.22 * arrowShare(impulse.length(), most);
      arrow.position.copy(point);
      arrow.setDirection(impulse.normalize());
      arrow.setLength(length, length * 0.25, length * 0.12);
    });
    for (let k = active.length; k < this.rings.length; k++) this.rings[k].visible = this.arrows[k].visible = false;
  }

  private moveNames(frame: Frame, x: Float32Array): void {
    const { bodies } = this.scene;
    const wanted = frame.labels && bodies.length <= 60;
    if (wanted && this.names.length === 0) {
      this.names = bodies.map((b) => nameSprite(b.id, this.theme));
      this.group.add(...this.names);
    }
    this.names.forEach((name, i) => {
      name.visible = wanted;
      name.position.copy(vector(pointAt(x, 3, bodies[i].first)));
    });
  }

  update(frame: Frame): void {
    const x = stateAt(this.shown.track, frame.time, this.state);
    this.moveNames(frame, x);
    this.scene.bodies.forEach((b, i) => this.moveBody(b, this.bodies[i], x));
    this.ties.forEach(({ tie, meshes }) => this.moveTie(tie, meshes, x));
    this.scene.bodies.forEach((b, i) => this.moveTrail(this.trails[i], b, frame));
    this.moveFlashes(frame);
  }
}

function release(object: three.Object3D): void {
  object.traverse((o) => {
    const mesh = o as three.Mesh;
    mesh.geometry?.dispose();
    for (const m of [mesh.material].flat()) {
      (m as three.MeshStandardMaterial | undefined)?.map?.dispose();
      m?.dispose();
    }
  });
}

export class SolidStage implements Stage {
  readonly element: HTMLCanvasElement;
  readonly view: OrbitView;
  private readonly renderer: three.WebGLRenderer;
  private readonly camera = new three.PerspectiveCamera(32, 1, 0.01, 1000);
  private readonly world = new three.Scene();
  private models: TrackModel[] = [];
  private walls = new three.Group();
  private made = '';
  private readonly size: number;

  constructor(
    readonly scene: SceneInfo,
    readonly box: Box,
  ) {
    this.view = new OrbitView(scene.gravity);
    this.size = Math.hypot(...box.high.map((h, i) => h - box.low[i])) || 1;
    this.renderer = new three.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = three.PCFSoftShadowMap;
    this.element = this.renderer.domElement;
    this.addLights();
  }

  private addLights(): void {
    const up = vector(this.view.up);
    const centre = vector(this.box.low.map((l, i) => (l + this.box.high[i]) / 2));
    const sun = new three.DirectionalLight('#ffffff', 2.2);
    sun.position.copy(centre).addScaledVector(up, this.size).add(new three.Vector3(0.6, 0.35, 0.2).multiplyScalar(this.size));
    sun.target.position.copy(centre);
    sun.castShadow = true;
    sun.shadow.mapSize.set(1024, 1024);
    const reach = this.size * 0.9;
    Object.assign(sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.01, far: 4 * this.size });
    sun.shadow.radius = 4;
    sun.shadow.bias = -0.0005;
    this.world.add(sun, sun.target, new three.HemisphereLight('#ffffff', '#8a94a3', 1.4));
  }

  // a translucent pane with a grid, where a wall is
  private makeWall(plane: Plane, theme: Theme): three.Object3D {
    const group = new three.Group();
    const centre = this.box.low.map((l, i) => (l + this.box.high[i]) / 2);
    const { corners, lines } = wallPane(this.scene.planes, plane, centre, this.size * 0.5);
    const fan = new three.BufferGeometry().setFromPoints(
      corners.slice(2).flatMap((_, k) => [corners[0], corners[k + 1], corners[k + 2]].map(vector)),
    );
    fan.computeVertexNormals();
    const pane = new three.Mesh(
      fan,
      new three.MeshStandardMaterial({ color: theme.wall, transparent: true, opacity: theme.name === 'light' ? 0.2 : 0.26, side: three.DoubleSide, roughness: 0.9, depthWrite: false }),
    );
    pane.receiveShadow = true;
    const grid = new three.LineSegments(
      new three.BufferGeometry().setFromPoints(lines.flatMap((l) => [vector(l[0]), vector(l[l.length - 1])])),
      new three.LineBasicMaterial({ color: theme.wall, transparent: true, opacity: 0.4 }),
    );
    group.add(pane, grid);
    return group;
  }

  // where a body is to be: its outline as a cage
  private makeTarget(target: Target, theme: Theme): three.Object3D {
    const cage = new three.LineSegments(
      new three.WireframeGeometry(new three.IcosahedronGeometry(target.radius > 0 ? target.radius : this.size * 0.02, 1)),
      new three.LineBasicMaterial({ color: theme.ink, transparent: true, opacity: 0.5 }),
    );
    cage.position.copy(vector(target.position));
    return cage;
  }

  private rebuild(frame: Frame): void {
    const key = frame.theme.name + frame.shown.map((s) => `${s.track.file}/${s.track.sample}/${s.track.role}/${s.colour}/${s.ghost}`).join();
    if (key === this.made) return;
    this.made = key;
    for (const model of this.models) {
      this.world.remove(model.group);
      release(model.group);
    }
    this.world.remove(this.walls);
    release(this.walls);
    this.walls = new three.Group();
    for (const plane of this.scene.planes) this.walls.add(this.makeWall(plane, frame.theme));
    for (const target of frame.targets) this.walls.add(this.makeTarget(target, frame.theme));
    this.models = frame.shown.map((s) => new TrackModel(this.scene, s, frame.theme, this.size));
    this.world.add(this.walls, ...this.models.map((m) => m.group));
    this.world.background = new three.Color(frame.theme.paper);
  }

  resize(width: number, height: number): void {
    this.view.width = width;
    this.view.height = height;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
    this.renderer.setSize(width, height);
    this.camera.aspect = width / height;
  }

  draw(frame: Frame): void {
    this.rebuild(frame);
    for (const model of this.models) model.update(frame);
    const { view, camera } = this;
    camera.fov = (view.field * 180) / Math.PI;
    camera.near = view.distance / 100;
    camera.far = view.distance * 10 + 10 * this.size;
    camera.up.copy(vector(view.up));
    camera.position.copy(vector(view.eye()));
    camera.lookAt(vector(view.target));
    camera.updateProjectionMatrix();
    this.renderer.render(this.world, camera);
  }

  dispose(): void {
    for (const model of this.models) release(model.group);
    release(this.walls);
    this.renderer.dispose();
    this.renderer.forceContextLoss();
    this.element.remove();
  }
}
