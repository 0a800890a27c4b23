"""Words of the tales: characters, places, things, and tables of facts that belong together.

Every table is a list of rows; a plot that asks for `row skill` gets one row of SKILL bound to its
columns, so that "whistle" and "whistled" or a fear and its cause always go together.
"""


def table(columns, text):
    """Parse rows of `;`-separated cells into dictionaries with the given column names."""
    names = columns.split()
    rows = [[cell.strip() for cell in line.split(";")] for line in text.strip().splitlines()]
    for row in rows:
        assert len(row) == len(names), row
    return [dict(zip(names, row)) for row in rows]


# Kind of character: where it lives (land, sea, home), its home, how it goes (base, past), and
# the share of stories it gets.
KINDS = table("kind domain home go went weight", """
fox;land;den;walk;walked;4
rabbit;land;burrow;hop;hopped;4
bear;land;cave;walk;walked;4
mouse;land;hole;run;ran;4
cat;home;house;walk;walked;4
kitten;home;house;run;ran;2
dog;home;house;run;ran;4
puppy;home;house;run;ran;2
hedgehog;land;nest;walk;walked;3
squirrel;land;tree;run;ran;3
deer;land;grove;run;ran;2
wolf;land;den;run;ran;2
lion;land;cave;walk;walked;3
tiger;land;cave;walk;walked;2
elephant;land;hut;walk;walked;3
monkey;land;tree;climb;climbed;2
giraffe;land;hut;walk;walked;2
zebra;land;hut;run;ran;1
turtle;land;pond;crawl;crawled;3
frog;land;pond;hop;hopped;3
snail;land;shell;crawl;crawled;2
pig;home;barn;run;ran;2
goat;home;barn;run;ran;1
sheep;home;barn;walk;walked;1
lamb;home;barn;run;ran;1
cow;home;barn;walk;walked;1
horse;home;barn;run;ran;2
pony;home;barn;run;ran;1
donkey;home;barn;walk;walked;1
hen;home;barn;walk;walked;1
duck;home;pond;walk;walked;2
duckling;home;pond;run;ran;2
penguin;land;nest;walk;walked;2
owl;land;nest;fly;flew;3
bird;land;nest;fly;flew;3
crow;land;nest;fly;flew;1
robin;land;nest;fly;flew;1
parrot;land;nest;fly;flew;1
bat;land;cave;fly;flew;1
bee;land;hive;fly;flew;2
butterfly;land;flower;fly;flew;1
ant;land;hole;walk;walked;2
ladybug;land;leaf;fly;flew;1
beaver;land;lodge;walk;walked;1
badger;land;burrow;walk;walked;2
mole;land;tunnel;walk;walked;1
otter;land;den;run;ran;2
raccoon;land;tree;run;ran;1
panda;land;cave;walk;walked;1
koala;land;tree;climb;climbed;1
kangaroo;land;hut;hop;hopped;1
camel;land;hut;walk;walked;1
hippo;land;pond;walk;walked;1
lizard;land;hole;run;ran;1
dinosaur;land;cave;walk;walked;1
fish;sea;cave;swim;swam;2
whale;sea;cave;swim;swam;1
dolphin;sea;cave;swim;swam;1
crab;sea;hole;crawl;crawled;1
octopus;sea;cave;swim;swam;1
seal;sea;cave;swim;swam;1
mermaid;sea;cave;swim;swam;1
dragon;land;cave;fly;flew;4
unicorn;land;grove;run;ran;2
fairy;land;house;fly;flew;1
elf;land;house;walk;walked;1
troll;land;cave;walk;walked;1
giant;land;house;walk;walked;1
monster;land;cave;walk;walked;1
ghost;home;house;fly;flew;1
robot;home;house;roll;rolled;3
wizard;home;tower;walk;walked;1
witch;home;house;fly;flew;1
princess;home;castle;walk;walked;2
prince;home;castle;walk;walked;1
king;home;castle;walk;walked;1
queen;home;castle;walk;walked;1
knight;home;castle;ride;rode;1
farmer;home;house;walk;walked;1
baker;home;house;walk;walked;1
sailor;home;house;walk;walked;1
pirate;home;house;walk;walked;1
girl;home;house;walk;walked;16
boy;home;house;walk;walked;14
""")

FEMALE = {"girl", "princess", "queen", "witch", "hen", "cow", "mermaid", "fairy"}
MALE = {"boy", "prince", "king", "knight", "wizard"}
NEUTER = {"robot", "ghost"}  # may be "it"
GROWN = {"king", "queen", "knight", "farmer", "baker", "sailor", "pirate", "wizard", "witch",
         "giant", "troll"}

CHILDREN = {"girl", "boy", "puppy", "kitten", "lamb", "duckling", "princess", "prince", "pony"}

GIRL_NAMES = """Mira Lily Anna Ella Rosie Mia Nora Ruby Tess Lucy Daisy Poppy Hazel Ivy Clara Sara
Emma Luna Molly Nina Zoe Maya Pearl Wendy Lola Kate Jane Amy Bella Fern Holly Dora Tilly Ada
Penny Sophie Olive Greta Hana Leila""".split()
BOY_NAMES = """Tom Ben Sam Max Leo Finn Jack Tim Oscar Pip Otto Hugo Milo Theo Felix Noah Toby
Charlie Henry Oliver Peter Rory Bruno Gus Rex Archie Barney Joe Will Danny Jasper Monty Ned
Ollie Paul Ravi Kofi Omar Hans Igor""".split()
SYLLABLES = """ba be bi bo da do fa fi ga go ka ke ki ko la le li lo lu ma me mi mo na ne ni no pa
pe pi po ra re ri ro sa se si so ta te ti to va vi wa ya yo za zi zo""".split()
NAME_ENDS = ["", "", "n", "l", "r", "x", "s", "m"]

ADJECTIVES = """little small young brave kind shy clever curious funny gentle happy quiet cheerful
busy silly lonely tiny playful""".split()
PAL_ADJECTIVES = """old kind wise friendly clever gentle big small quiet funny brave cheerful
young""".split()

# Places: domain, short name, with preposition, in an opening, two landmarks, a hiding place list.
PLACES = table("domain place inplace openplace mark mark2 spots", """
land;forest;in the forest;in a green forest;the old oak tree;the stream;\
    under a bush/behind a tall tree/under a pile of leaves/inside a hollow log/beside the stream
land;forest;in the forest;at the edge of a deep forest;the big rock;the berry bushes;\
    under a bush/between two roots/under a pile of leaves/behind a rock/in the tall ferns
land;meadow;in the meadow;in a wide meadow;the apple tree;the stream;\
    in the tall grass/under a flower/behind a stone/next to the stream/beside the fence
land;mountain;on the mountain;on a high mountain;the tall pine tree;the cold spring;\
    behind a rock/under a pine tree/in a small cave/on a ledge/beside the path
land;river;by the river;near a slow river;the wooden bridge;the willow tree;\
    under the bridge/among the reeds/behind a rock/in the mud/beside the willow tree
land;hill;on the hill;on a grassy hill;the lonely tree;the stone wall;\
    in the tall grass/behind the stone wall/under a bush/beside the path/at the bottom of the hill
land;jungle;in the jungle;in a warm jungle;the tallest tree;the waterfall;\
    under a big leaf/behind the waterfall/between two roots/on a branch/in the mud
land;lake;by the lake;beside a blue lake;the old boat;the willow tree;\
    under the old boat/among the reeds/behind a stone/in the sand/under the willow tree
land;valley;in the valley;in a sunny valley;the round hill;the little pond;\
    behind a rock/in the tall grass/next to the pond/under a bush/beside the path
home;village;in the village;in a small village;the well;the market;\
    under a bench/behind the well/next to the bakery/under the bridge/in the tall grass
home;town;in the town;in a busy town;the clock tower;the park;\
    under a bench/behind the school/next to the fountain/in the park/under a cart
home;farm;on the farm;on a quiet farm;the red barn;the pond;\
    in the hay/behind the barn/under the fence/next to the pond/in the corn
home;island;on the island;on a small island;the lighthouse;the harbor;\
    in the sand/under an old boat/behind a rock/beside the lighthouse/under a palm tree
home;beach;by the beach;in a house by the sea;the lighthouse;the rocks;\
    in the sand/under an old boat/behind a rock/in a pool of water/beside a big shell
home;garden;in the garden;in a house with a big garden;the apple tree;the gate;\
    under a rose bush/behind the gate/in the flowers/under a leaf/next to the shed
home;city;in the city;in a tall house in the city;the park;the train station;\
    under a bench/behind a tree/next to the fountain/under the stairs/in the park
sea;sea;in the sea;in the deep blue sea;the coral reef;the old ship;\
    under a rock/in the seaweed/behind a shell/inside the old ship/in the sand
sea;bay;in the bay;in a calm bay;the big rock;the seaweed;\
    under a rock/in the seaweed/behind a shell/in a small cave/in the sand
sea;reef;at the reef;at a bright coral reef;the tall coral;the sunken boat;\
    under a rock/behind a coral/inside the sunken boat/in the sand/in the seaweed
""")

COLORS = "red blue green yellow golden silver purple white orange pink brown black".split()
THING_ADJECTIVES = "small shiny old pretty tiny little round new soft special".split()
# Things a character can carry, lose, give, or find.
THINGS = """key ball kite hat scarf ring drum book bell button coin map lantern whistle basket
blanket spoon cup doll boat box crown feather shell stone flute mirror necklace pencil ribbon
bag umbrella mitten sock shoe bow flag star marble watch locket brush candle flower wagon
teapot toy""".split()

FOODS = table("food onefood it them", """
berries;a berry;they;them
apples;an apple;they;them
nuts;a nut;they;them
cookies;a cookie;they;them
pancakes;a pancake;they;them
carrots;a carrot;they;them
plums;a plum;they;them
cherries;a cherry;they;them
pears;a pear;they;them
honey cakes;a honey cake;they;them
muffins;a muffin;they;them
bread;a piece of bread;it;it
cheese;a piece of cheese;it;it
cake;a piece of cake;it;it
pie;a piece of pie;it;it
soup;a bowl of soup;it;it
""")

SKILL = table("skill skilled skilling fail proof", """
whistle;whistled;whistling;only air came out;a clear and happy sound filled the air
sing;sang;singing;only a squeak came out;the song was sweet and clear
dance;danced;dancing;{he} tripped and fell down;{he} turned around and around and did not fall
paint;painted;painting;the colors all ran together;the picture was bright and beautiful
bake bread;baked bread;baking bread;the bread was as hard as a stone;the bread was soft and warm
swim;swam;swimming;{he} splashed and sank like a stone;{he} moved through the water like a fish
climb trees;climbed trees;climbing trees;{he} slid right back down;{he} reached the highest branch
juggle;juggled;juggling;the balls fell on {his} head;all three balls flew round and round
skate;skated;skating;{he} slipped on the ice;{he} moved over the ice like the wind
read;read;reading;the letters looked like little bugs;{he} read a whole page aloud
play the drum;played the drum;playing the drum;it was only a lot of noise;\
    it went boom, boom, boom, just right
play the flute;played the flute;playing the flute;only a squeak came out;\
    a soft tune floated in the air
jump rope;jumped rope;jumping rope;{he} got stuck in the rope;{he} jumped ten times in a row
fly a kite;flew a kite;flying a kite;the kite fell on the ground;the kite danced high in the sky
ride a bike;rode a bike;riding a bike;{he} fell into a bush;{he} rode all the way around the tree
tell jokes;told jokes;telling jokes;nobody laughed;everyone laughed until they cried
knit;knitted;knitting;the wool made one big knot;a long warm scarf grew day by day
cook soup;cooked soup;cooking soup;the soup tasted like mud;the soup smelled wonderful
catch a ball;caught a ball;catching a ball;the ball hit {his} nose;{he} caught it every single time
count to one hundred;counted to one hundred;counting to one hundred;\
    {he} forgot what came after twenty;{he} did not miss a single number
""")

FEAR = table("fear feartrigger fearshow fearless", """
rain;dark clouds came and drops began to fall;hid under a big leaf;\
    the rain was only cool water that made the flowers grow
thunder;thunder rolled over the hills;covered {his} ears;thunder was only the sky being noisy
the dark;the sun went down and everything turned black;pulled the blanket over {his} head;\
    the dark was full of stars
water;everyone ran to play in the water;stayed far away from the edge;the water was cool and gentle
heights;everyone climbed up to see the view;held on to the ground;\
    the world was beautiful from up high
spiders;a small spider came down on a thread;jumped back and screamed;\
    the spider only wanted to make its web
loud noises;a loud bang came from far away;ran and hid in a corner;noises could not hurt anyone
the wind;the wind began to blow and howl;held on to a tree;the wind only wanted to play
snow;the first snow began to fall;would not come out;the snow was soft and good to play in
shadows;a long shadow moved on the wall;closed {his} eyes;a shadow was only a friend of the light
fire;someone lit a fire to keep warm;stayed far away and shook;\
    a fire could keep friends warm if they were careful
strangers;somebody new came to visit;hid and did not say a word;a stranger could become a friend
""")

MYSTERY = table("clue guess truth truthwhy", """
a strange sound in the night;a ghost;{apal} who was snoring;I am sorry, I sleep very loudly
a strange sound in the night;a monster;{apal} who was playing a little drum;\
    I am practicing for a party
small footprints in the mud;a thief;{apal} who was looking for a home;I have been walking for days
a strange light behind the trees;a falling star;{apal} with a lantern;I am looking for my lost hat
a soft voice singing far away;a fairy;{apal} who was all alone;I sing when I feel lonely
a trail of crumbs on the path;a hungry giant;{apal} with a hole in {phis} bag;\
    Oh no, I have lost my whole lunch
a knocking sound under the floor;a monster;{apal} who was digging a tunnel;\
    I think I took a wrong turn
feathers all over the ground;a wild beast;{apal} who was making a pillow;\
    I want to give it to my mother
a note with no name on it;a king;{apal} who was too shy to speak;I wanted to be your friend
a pile of stones in front of the door;a troll;{apal} who was building a wall;\
    I thought that nobody lived here
""")

TROUBLE = table("trouble cry rescue", """
was stuck in the mud;Help! I cannot move my feet!;pulled and pulled until {phe} was free
was caught in a net;Help! I cannot get out!;pulled at the ropes until they broke
had a thorn in {phis} foot;Ouch! It hurts so much!;took out the thorn very gently
could not find {phis} way home;I am lost! I want to go home!;showed {phim} the right path home
had fallen into a deep hole;Help! It is so dark down here!;found a long rope and pulled {phim} up
was too weak to walk;I am so hungry and tired!;brought {phim} warm food and water
was cold and wet;I am so cold!;gave {phim} a warm blanket
had hurt {phis} leg;Ouch! I cannot walk!;put a soft leaf around the leg and helped {phim} home
was trapped under a branch;Help! It is too heavy!;pushed the branch away with all {his} strength
had a cart with a broken wheel;Oh dear, how will I get home?;fixed the wheel with a strong stick
""")

GOAL = table("goal goalwhy goalsee", """
the top of the mountain;{he} wanted to see the whole world;\
    {he} could see the rivers and the fields far below
the sea;{he} had never seen so much water;the waves were as big as houses and the water was blue
the end of the rainbow;{he} wanted to find the gold;\
    there was no gold, but there was a garden full of flowers
the moon;it looked so close and so bright;the moon shone on the lake as if it had come down
the old castle;{he} wanted to know who lived there;\
    a kind old queen opened the door and gave {him} tea
the edge of the world;{he} wanted to know what was there;\
    there was only another hill, and behind it another one
the house of {his} grandma;it was her birthday;grandma opened the door and hugged {him}
the big waterfall;{he} had heard its song in {his} dreams;the water fell like a silver curtain
the land of snow;{he} had never seen snow;everything was white and quiet and lovely
the hidden lake;an old story said that it was magic;\
    the water was so clear that {he} could see every stone
""")

BROKEN = table("broke brokehow fixed", """
the blue vase;{he} was running inside;glued the pieces together again
the window;{he} kicked the ball too hard;saved money and helped to put in a new one
the big cup;{he} was dancing on the table;made a new cup out of clay
the wooden chair;{he} jumped on it;fixed the leg with a hammer
the clock;{he} wanted to see what was inside;put all the little wheels back
the fence;{he} raced against the wind;put up new boards and painted them
the flower pot;{he} was playing catch;put the flowers into a new pot
the music box;{he} turned the key too far;found the missing spring and fixed it
the lamp;{he} threw a pillow;found a new lamp shade
the toy boat;{he} stepped on it;carved a new mast for it
""")

BUILD = table("build buildof builtuse", """
a tree house;old boards;everyone climbed up and looked at the stars
a boat;logs and rope;they sailed across the water and laughed
a bridge;strong wood;everyone could cross without getting wet
a sand castle;sand and shells;it had four towers and a little flag
a snow house;blocks of snow;it was warm and cozy inside
a cart;four wheels and a box;they rolled down the hill and cheered
a bird house;small pieces of wood;a family of birds moved in
a raft;sticks and vines;they floated down the river in the sun
a swing;rope and a board;everyone took a turn and went up high
a windmill;paper and sticks;it turned and turned in the wind
""")

WISH = table("wish wishgone", """
be as big as a house;{he} could not fit through the door
be as small as a bug;even the grass looked like a forest
have all the gold in the world;there was no room left to sleep
fly like a cloud;{he} could not come down to eat
eat sweets all day;{his} stomach hurt very much
be invisible;nobody could see {him} and nobody said hello
never have to sleep;{he} was so tired that {he} could not play
be the king of everything;nobody wanted to play with {him} anymore
talk louder than anyone;everyone covered their ears and ran away
live alone with no rules;the house was very quiet and very lonely
""")

DIFFERENT = table("odd tease oddhelp", """
very big ears;You look silly with those ears!;heard a small cry for help that nobody else could hear
a very long nose;What a funny nose!;smelled the smoke before anyone else
a very loud voice;You are too loud!;called for help so loudly that everyone came
bright green hair;You look like a bush!;was easy to see in the thick fog
very short legs;You are too slow!;fit through the small hole and opened the door
very big feet;Look at those feet!;stood firm in the wind and held everyone
spots all over;You look so strange!;hid among the leaves and watched for danger
a very quiet voice;We cannot hear you!;talked to the frightened baby bird and made it calm
a crooked tail;What a strange tail!;hooked the rope with it and pulled everyone up
a bright red coat;You look like a tomato!;led everyone home through the snow
""")

ELDERS = table("eldername ehe ehim ehis", """
mother;she;her;her
father;he;him;his
grandma;she;her;her
grandpa;he;him;his
sister;she;her;her
brother;he;him;his
aunt;she;her;her
""")

HOBBIES = """play in the sun
look for pretty stones
count the stars at night
listen to the birds
tell stories
run in the wind
pick flowers
watch the clouds
sing in the morning
draw pictures in the sand
explore new places
chase leaves
help the neighbors
look at the moon
play hide and seek
collect shiny things""".splitlines()

ROWS = {"skill": SKILL, "fear": FEAR, "mystery": MYSTERY, "trouble": TROUBLE, "goal": GOAL,
        "broken": BROKEN, "build": BUILD, "wish": WISH, "different": DIFFERENT, "food": FOODS}
