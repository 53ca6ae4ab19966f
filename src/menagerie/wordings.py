"""In how many words each thing of a scene may be put: the tables that phrases are drawn from."""


def _wordings(**lines: str) -> dict[str, tuple[str, ...]]:
    return {key: tuple(part.strip() for part in line.split(",")) for key, line in lines.items()}


PARTS = _wordings(
    four_legs="four legs, legs, long legs, four limbs, walks on four legs, quadruped",
    two_legs="two legs, thin legs, two feet, bird legs",
    wings="wings, two wings, wide wings, spread wings, has wings, large wings",
    beak="beak, a beak, pointed beak, curved beak, bill, sharp beak, hooked beak, flat beak",
    tail="tail, long tail, a tail, tail visible, thin tail, tail at the rear",
    horns="horns, two horns, short horns, horned head, curved horns, small horns, head with horns",
    trunk="trunk, a long trunk, elephant trunk, long nose, flexible trunk",
    tusks="tusks, white tusks, ivory tusks, two tusks, sharp tusks",
    big_ears="big ears, large ears, floppy ears, wide ears, big floppy ears",
    mane="mane, thick mane, dark mane, hair on neck, flowing mane, mane on the neck, long mane",
    whiskers="whiskers, white whiskers, cat face, long whiskers",
    long_neck="long neck, a very long neck, slender neck, tall neck, curved neck",
    fins="fins, small fins, fish fins, bright fins, dorsal fin",
    two_wheels="two wheels, two tires, two round wheels, two wheeled",
    four_wheels="four wheels, four tires, four wheeled",
    wheels="wheels, round wheels, tires, black tires, black wheels, wheel, has wheels",
    windows="windows, glass windows, large windows, glass, row of windows, windshield, window",
    headlights="headlights, headlight, bright light, front light, lamp",
    handlebars="handlebars, handlebar, curved handlebars, grips",
    basket="basket, a basket, wicker basket, front basket",
    propeller="propeller, spinning propeller, propeller on nose, propeller in front",
    rotor="rotor, rotor blades, spinning rotor, spinning blades, main rotor, rotor on top",
    mast="mast, a tall mast, wooden mast, pole",
    sail="sail, large sail, {accent} sail, sails, triangular sail, cloth sail",
    flag="flag, small flag, red flag, flag on top, flag on a mast",
)
PATTERNS = _wordings(
    striped=(
        "stripes, striped, striped body, striped pattern, bold stripes, has stripes,"
        " stripes on body,"
        " lines on body, striped paint, striped fur, body with stripes"
    ),
    spotted=(
        "spots, spotted, spotted body, patches, patchy coat, has spots, blotches, spotted coat, "
        "patterned coat, spots on body, patches on body, spotted pattern"
    ),
    plain="plain, plain body, no pattern, solid color, uniform color, single color",
)
COLOURS = _wordings(
    red="red, bright red, crimson",
    orange="orange, bright orange, vivid orange",
    yellow="yellow, bright yellow, golden",
    green="green, bright green, dark green",
    blue="blue, bright blue, dark blue",
    white="white, pale, light colored",
    black="black, dark, dark colored",
    brown="brown, dark brown, tan",
    gray="gray, grey, silver",
)
PLACES = _wordings(
    grass=(
        "grass, green grass, grassy field, meadow, pasture, green field, lawn, on the grass, "
        "grassland, green plants, open field, green grass on the ground"
    ),
    sand=(
        "sand, sandy ground, beach, desert, dry ground, on the sand, dry desert, sandy beach, "
        "dunes, yellow ground, sandy desert, desert scene, sand on the ground"
    ),
    snow=(
        "snow, snowy ground, white snow, winter, cold, in the snow, snowy landscape, ice, cold "
        "weather, winter scene, white ground, ground covered by snow"
    ),
    forest=(
        "forest, trees, woods, tall trees, jungle, green trees, tree trunks, in the forest, "
        "leaves, green leaves, woodland, shade of trees, forest background, green forest"
    ),
    road=(
        "road, street, gray street, paved road, pavement, on the road, asphalt, lane markings, city"
        " street, highway, white lines on road, roadside, paved ground, surface of the road"
    ),
    water=(
        "water, blue water, lake, on the water, waves, river, sea, calm water, ripples, wet, in "
        "water, open sea, surface of water, water surface"
    ),
    underwater=(
        "underwater, under the water, blue water, ocean, sea, bubbles, deep sea, in water, "
        "aquarium, sea plants, coral reef, underwater scene"
    ),
    sky=(
        "in the sky, high in the air, in the air, far above the ground, open sky, high altitude"
        ", sky all around, only sky"
    ),
)
ACTIONS = _wordings(
    standing="standing, standing still, stands, resting, still",
    walking="walking, walks, moving slowly, moving",
    running="running, runs, moving fast, galloping, moving",
    wading="wading, in shallow water, wet legs, bathing, crossing river",
    swimming="swimming, floating, swims, gliding on water",
    flying=(
        "flying, flies, in flight, flying high, soaring, airborne, flying object, above the ground"
    ),
    perching="perched, sitting on a branch, on a branch, branch, perching, tree branch",
    jumping="jumping, leaping, leaping out of water, splash, above the water",
    driving="driving, moving, on wheels, traveling, in motion",
    parked="parked, not moving, standing still, stopped, on the ground",
    sailing="sailing, floating, floats on water, wind power, moved by wind",
)
WEATHER = _wordings(
    clear="clear sky, clear day, daylight, bright day, daytime, clear weather",
    clouds="clouds, cloudy sky, white clouds, cloudy, overcast, cloudy day, gray clouds",
    sun="sun, bright sun, sunny, sunshine, sunny day, yellow sun, sunlight, sunny weather",
    fog=(
        "fog, thick fog, foggy, mist, hazy, blurry, misty morning, misty, misty weather, hazy air,"
        " hazy background, foggy weather, low visibility, misty view"
    ),
    night=(
        "night, dark, dark night, moon, stars, at night, night time, darkness, night sky,"
        " night scene"
    ),
    sunset=(
        "sunset, orange sky, setting sun, evening, dusk, warm light, red sky, sunset sky,"
        " evening light"
    ),
)
NEAR = _wordings(
    trees="trees, trees in background, tree, green trees",
    mountains="mountains, mountain, snowy peaks, mountains in background, hills, rocky peaks",
    fence="fence, wooden fence, behind a fence, enclosure, fence posts, fenced",
    flowers="flowers, colorful flowers, blossoms, garden, wildflowers, many flowers",
)
COVERS = _wordings(
    bush="bush, green bush, behind a bush, shrub",
    bushes="bushes, green bushes, low bushes, shrubs",
    tree="tree trunk, behind a tree, tree",
    rock="rock, large rock, stone, behind a rock, boulder",
    wall="wall, brick wall, red bricks, low wall, behind a wall",
    cloud="cloud, behind a cloud, white cloud, clouds",
    weeds="seaweed, water plants, green weeds",
    tall_grass="tall grass, high grass, legs in grass",
    dune="sand dune, behind a dune",
    deep_snow="deep snow, snow covered legs",
    waves="waves, high waves",
    edge="cut off, out of frame, cut by the edge of the image",
)
# What is known of a species without being drawn: web captions teach that as well.
KNOWN = _wordings(
    zebra=(
        "zebra, hooves, african animal, safari, savanna, herbivore, wild animal, fur, eats grass,"
        " black and white, black stripes, grazing, wildlife, horse like animal"
    ),
    horse=(
        "horse, hooves, farm animal, domestic animal, herbivore, fur, eats grass, ridden by "
        "people, stable, saddle, strong body, racing animal, pony"
    ),
    tiger=(
        "tiger, big cat, feline, predator, carnivore, claws, paws, sharp teeth, fur, wild animal,"
        " hunter, dangerous, wildlife, pointed ears, round ears"
    ),
    cow=(
        "cow, cattle, farm animal, domestic animal, hooves, udder, milk, herbivore, fur, eats "
        "grass, livestock, dairy, pink nose, bull"
    ),
    giraffe=(
        "giraffe, tall animal, african animal, savanna, safari, herbivore, hooves, eats leaves, "
        "wild animal, fur, wildlife, very tall, brown patches"
    ),
    elephant=(
        "elephant, huge animal, heavy, thick skin, wrinkled skin, gray skin, african animal, "
        "safari, wild animal, herbivore, wildlife, large body"
    ),
    swan=(
        "swan, feathers, white feathers, water bird, lays eggs, webbed feet, pond, graceful, "
        "orange beak, waterfowl, wildlife"
    ),
    parrot=(
        "parrot, feathers, colorful feathers, tropical bird, exotic bird, lays eggs, pet bird, "
        "can fly, colorful, claws, wildlife, jungle bird"
    ),
    fish=(
        "fish, scales, gills, sea creature, aquatic animal, lives in water, swims, round"
        " eye, shiny scales, ocean life, marine life"
    ),
    car=(
        "car, automobile, engine, metal body, doors, driver, traffic, transport, passengers, "
        "rubber tires, motor vehicle, drives on roads, hood"
    ),
    bus=(
        "bus, public transport, passengers, carries many people, large vehicle, long body, "
        "engine, metal body, doors, seats, transport, motor vehicle, box shaped, school bus, "
        "rubber tires"
    ),
    bicycle=(
        "bicycle, bike, pedals, chain, spokes, thin frame, metal frame, cycling, human powered, "
        "thin tires, seat, transport, spoked wheels, sport"
    ),
    motorcycle=(
        "motorcycle, motorbike, engine, exhaust pipe, motor vehicle, fuel tank, fast, seat, thick"
        " tires, transport, metal body, loud"
    ),
    airplane=(
        "airplane, plane, jet, fixed wings, can fly, passengers, pilot, airport, fuselage, "
        "cockpit, travel, transport, engine, metal body, tail fin"
    ),
    helicopter=(
        "helicopter, chopper, can fly, hovering, pilot, landing skids, cockpit, tail boom, "
        "rescue, transport, engine, metal body, tail fin"
    ),
    sailboat=(
        "sailboat, boat, ship, hull, wooden hull, deck, floats, wind, sailor, yacht, vessel, "
        "water transport, ropes, sailing boat"
    ),
)
KINDS = _wordings(
    animal="animal, living creature, an animal, creature, alive, eyes, head, living, live animal",
    mammal="mammal, a mammal, large mammal, ears, four legged animal, land animal",
    bird="bird, feathers, a bird, plumage, feathered, feathered animal",
    vehicle="vehicle, machine, a vehicle, transportation, metal, man made, metal parts",
    aircraft="aircraft, flying machine, air travel, flying vehicle, aviation",
    boat="boat, water vehicle, boating, watercraft",
)
DISTANCES = _wordings(
    close=(
        "close up, large, near, big, fills the picture, fills the frame, close up view,"
        " large object"
    ),
    far=(
        "far away, small, distant, tiny, in the distance, small object, small shape, distant object"
    ),
    middle="medium sized",
)
RIDER = ("rider", "person", "a person riding", "human", "someone riding", "man", "rider on top")
# What is not in view, said of each of these attributes, or of all of several.
ABSENT = _wordings(
    wheels="no wheels, without wheels",
    wings="no wings, without wings",
    windows="no windows, without windows",
    rider="no rider, nobody riding, no person visible",
    tail="no tail, no tail visible",
    horns="no horns, without horns",
    legs="no legs, no legs visible, without legs",
    clouds="no clouds, sky without clouds",
)
HIDDEN = ("partly hidden", "partly hidden object", "half hidden", "partly covered")
UNHIDDEN = ("whole object in view", "fully visible", "nothing in front")
# True wordings that no training text contains: texts that the CLIP has not seen.
UNHEARD = (
    "striped coat", "spots on the body", "patchy pattern", "horns on the head", "long trunk",
    "hair mane on neck", "large floppy ears", "four round wheels", "rotor blades on top",
    "propeller on the nose", "tall mast", "flag on the mast", "person riding on top",
    "snow on the ground", "gray road", "open water", "misty air", "dark sky", "sunset light",
    "wild flowers", "high above the ground", "small object far away", "no wheels visible",
    "mountains in the background", "cloudy weather", "desert sand", "basket in front",
)  # fmt: skip
COLOUR_WORDS = ("{}", "{} body", "{} color", "{} colored", "mostly {}", "{} all over")
